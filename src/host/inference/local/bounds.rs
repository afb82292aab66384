//! What a process takes from itself before it touches what a stranger made.

/// Keeps this process to so many bytes beside what it has mapped already (on Linux), and to so many seconds of processor time
/// from now on.
#[cfg(unix)]
pub(super) fn bind(memory_bytes: u64, seconds: u64) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let set = |resource, most: u64, surely: u64| {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(surely),
        };
        setrlimit(resource, limit).map_err(|fault| format!("no bound can be set: {fault}"))
    };
    set(Resource::Core, 0, 0)?;
    // The first bound ends the process with a signal that says why.
    set(Resource::Cpu, seconds, seconds.saturating_add(1))?;
    if cfg!(target_os = "linux") {
        let most = number("/proc/self/status", "VmSize:").unwrap_or(USUAL_SIZE);
        let most = most.saturating_add(memory_bytes);
        set(Resource::As, most, most)?;
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn bind(_: u64, _: u64) -> Result<(), String> {
    Ok(())
}

/// What a program of this size maps, where the system does not say.
#[cfg(unix)]
const USUAL_SIZE: u64 = 1 << 30;

/// Bytes of memory that the machine could still give away, where it says so.
pub(super) fn available_memory() -> Option<u64> {
    number("/proc/meminfo", "MemAvailable:")
}

/// The number of bytes after a word in a file of the system.
fn number(file: &str, word: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(word))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib.saturating_mul(1024))
}
