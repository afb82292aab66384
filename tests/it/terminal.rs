//! The binary on a separate terminal: the input there, and the output.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// More than anything here takes, on however slow a machine.
const LONGEST: Duration = Duration::from_secs(120);

/// A process, and the other side of its terminal.
pub struct Terminal {
    child: Child,
    keyboard: File,
    /// The position in `shown` from which to look for the next text.
    next: usize,
    pieces: Receiver<Vec<u8>>,
    shown: String,
}

impl Terminal {
    /// Starts a command on a terminal of 100 columns.
    pub fn start(command: Command) -> Self {
        Self::sized(command, 100)
    }

    /// Starts a command on a terminal of so many columns.
    pub fn sized(mut command: Command, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        let size = Winsize {
            ws_col: columns,
            ws_row: 40,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&slave, size).unwrap();
        if !command.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm");
        }
        let child = command
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave)
            .spawn()
            .unwrap();
        // It holds the terminal open.
        drop(command);
        let keyboard = File::from(master);
        let mut screen = keyboard.try_clone().unwrap();
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // A terminal that the last process has left cannot be read.
            while let Ok(length @ 1..) = screen.read(&mut piece) {
                if sender.send(piece[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            keyboard,
            next: 0,
            pieces,
            shown: String::new(),
        }
    }

    /// Waits until that is shown, after what was waited for before.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> &mut Self {
        let limit = Instant::now() + LONGEST;
        loop {
            if let Some(at) = self.shown[self.next..].find(text) {
                self.next += at + text.len();
                return self;
            }
            // What is drawn again and again is no news.
            match self
                .pieces
                .recv_timeout(limit.saturating_duration_since(Instant::now()))
            {
                Ok(piece) if Instant::now() < limit => {
                    self.shown.push_str(&String::from_utf8_lossy(&piece));
                }
                _ => {
                    let from = self
                        .shown
                        .floor_char_boundary(self.shown.len().saturating_sub(4_000));
                    panic!("{text:?} was never shown: {:?}", &self.shown[from..]);
                }
            }
        }
    }

    /// Types that.
    pub fn types(&mut self, keys: &str) -> &mut Self {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Sends a signal to the process.
    pub fn signal(&mut self, name: &str) -> &mut Self {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        self
    }

    /// Waits for the end: the exit code, and everything that was shown.
    #[track_caller]
    pub fn end(mut self) -> (i32, String) {
        let limit = Instant::now() + LONGEST;
        while let Ok(piece) = self
            .pieces
            .recv_timeout(limit.saturating_duration_since(Instant::now()))
        {
            assert!(Instant::now() < limit, "it never ends: {:?}", self.shown);
            self.shown.push_str(&String::from_utf8_lossy(&piece));
        }
        let code = self.child.wait().unwrap().code();
        (
            code.expect("no signal ended it"),
            std::mem::take(&mut self.shown),
        )
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that has ended cannot be ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
