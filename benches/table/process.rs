//! The cost of a process, as the kernel counted it. Linux only.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// The cost of one process from its start to its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Processor time, of the user and of the kernel, its ended children included.
    pub cpu: Duration,
    pub wall: Duration,
    /// The most memory that was seen in use, in bytes.
    pub peak: u64,
    /// System calls that read or write.
    pub transfers: u64,
    /// Times that it waited and was woken.
    pub woken: u64,
    /// Bytes that went towards the disk.
    pub written: u64,
}

/// This program.
pub fn this_program() -> PathBuf {
    std::env::current_exe().expect("a program has a path")
}

/// Starts a command that runs until its input ends, and waits for the first line that it prints.
pub fn begun(command: &mut Command) -> (Child, String) {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().expect("it starts");
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("its output is a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    (child, line)
}

/// Runs a command to its end, its output unread. Panics where it fails.
pub fn run(command: &mut Command) -> Cost {
    run_as_it_is(command.stdin(Stdio::null()).stdout(Stdio::null()))
}

/// Runs a command to its end with the streams that it has. Panics where it fails.
pub fn run_as_it_is(command: &mut Command) -> Cost {
    let before = getrusage(UsageWho::RUSAGE_CHILDREN).expect("resources are counted");
    let began = Instant::now();
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    // A child that fills its pipe would wait for ever for someone to read.
    let mut stderr = child.stderr.take().expect("a pipe");
    let stderr = std::thread::spawn(move || {
        let mut text = Vec::new();
        drop(stderr.read_to_end(&mut text));
        text
    });
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    let mut peak = 0;
    // It stays a zombie, whose counts can be read, until it is waited for.
    let exited = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
    while waitid(Id::Pid(pid), exited)
        .expect("a child")
        .pid()
        .is_none()
    {
        peak = peak.max(counted(pid, "status", "VmHWM:").unwrap_or(0) * 1024);
        std::thread::sleep(Duration::from_millis(1));
    }
    let wall = began.elapsed();
    let io = |name| counted(pid, "io", name).unwrap_or(0);
    let (written, transfers) = (io("write_bytes:"), io("syscr:") + io("syscw:"));
    let status = child.wait().expect("a child");
    let stderr = stderr.join().expect("it only reads");
    assert!(
        status.success(),
        "{command:?}: {status}\n{}",
        String::from_utf8_lossy(&stderr)
    );
    let after = getrusage(UsageWho::RUSAGE_CHILDREN).expect("resources are counted");
    let woken = after.voluntary_context_switches() - before.voluntary_context_switches();
    Cost {
        cpu: cpu_between(&before, &after),
        wall,
        peak,
        transfers,
        woken: u64::try_from(woken).unwrap_or(0),
        written,
    }
}

fn counted(pid: Pid, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Does `work`, and says what processor time of this thread that took: other work on the machine does not count.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = getrusage(UsageWho::RUSAGE_THREAD).expect("resources are counted");
    let done = work();
    let after = getrusage(UsageWho::RUSAGE_THREAD).expect("resources are counted");
    (done, cpu_between(&before, &after))
}

/// Does `work`, and says the time that it takes on the clock, and of the processor in all threads of this process.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, [Duration; 2]) {
    let before = getrusage(UsageWho::RUSAGE_SELF).expect("resources are counted");
    let began = Instant::now();
    let done = work();
    let wall = began.elapsed();
    let after = getrusage(UsageWho::RUSAGE_SELF).expect("resources are counted");
    (done, [wall, cpu_between(&before, &after)])
}

fn cpu_between(before: &Usage, after: &Usage) -> Duration {
    let micros = |usage: &Usage| {
        let of = |time: TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
        of(usage.user_time()) + of(usage.system_time())
    };
    let micros = u64::try_from(micros(after) - micros(before)).expect("time goes on");
    Duration::from_micros(micros)
}

/// Processor time that the threads of a running process have used so far.
pub fn cpu_so_far(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let nanoseconds = tasks.flatten().filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}
