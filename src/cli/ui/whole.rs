//! Writes everything to a stream of the process, however slow its reader is. Does not know what is written.
//!
//! A pipe or a terminal is shared with other processes, and one of them may have made it one that does not wait (`O_NONBLOCK`). That it takes nothing
//! now is no fault then: it is waited for.

use std::io;

/// A stream of the process that waits for its reader. It keeps nothing back, so there is nothing to flush.
#[derive(Debug)]
pub(crate) struct Whole<S>(pub(crate) S);

#[cfg(unix)]
impl<S: std::os::fd::AsFd> io::Write for Whole<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, poll};
        use rustix::io::Errno;
        loop {
            match rustix::io::write(&self.0, bytes) {
                Err(Errno::AGAIN) => {}
                Err(Errno::INTR) => continue,
                written => return Ok(written?),
            }
            // A reader that goes away ends this, too.
            match poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(fault) => return Err(fault.into()),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(not(unix))]
impl<S: io::Write> io::Write for Whole<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_stream_that_does_not_wait_takes_everything_all_the_same() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        // More than lies in between.
        let bytes = vec![b'x'; 4 << 20];
        let expect = bytes.len();
        let reading = std::thread::spawn(move || {
            let mut read = Vec::new();
            theirs.read_to_end(&mut read).unwrap();
            read.len()
        });
        Whole(&ours).write_all(&bytes).unwrap();
        drop(ours);
        assert_eq!(reading.join().unwrap(), expect);
    }

    #[test]
    fn a_reader_that_goes_away_is_a_fault() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let leaving = std::thread::spawn(move || {
            let mut some = [0; 1024];
            let read = (&theirs).read(&mut some).unwrap();
            drop(theirs);
            read
        });
        let fault = Whole(&ours).write_all(&vec![b'x'; 4 << 20]).unwrap_err();
        let gone = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
        assert!(gone.contains(&fault.kind()), "{fault}");
        assert!(leaving.join().unwrap() > 0);
    }
}
