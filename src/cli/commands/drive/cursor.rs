//! Where the cursor stands behind what was last shown of a run. Writes nothing.

/// Where the cursor stands.
#[derive(Clone, Copy, Default)]
pub(super) enum Cursor {
    BehindAQuestion,
    BehindWhatIsWaitedFor,
    #[default]
    InAFreeLine,
}
