//! The machine, explored exhaustively within small bounds.
