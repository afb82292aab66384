//! The places of programs, caches, settings and credentials below a home. Data only.

/// Folders of programs and of their settings.
pub(super) const SYSTEM: [&str; 12] = [
    "/bin", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/sbin",
    "/snap", "/usr",
];
/// Folders of the kernel and of running daemons, which are never shown because a program lies there.
pub(super) const KERNEL: [&str; 4] = ["/dev", "/proc", "/run", "/sys"];
/// Folders for temporary files; each sandbox has its own.
pub(super) const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// Folders below the home that programs are installed in.
pub(super) const PROGRAMS: [&str; 16] = [
    ".asdf",
    ".cargo/bin",
    ".local/bin",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/rtx",
    ".nodenv",
    ".npm-global",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".tool-versions",
    ".volta",
];
/// Folders below the home that package runners write to; `true` where programs are installed there, too.
pub(super) const CACHES: [(&str, bool); 18] = [
    (".bun", true),
    (".cache/bun", false),
    (".cache/deno", false),
    (".cache/ms-playwright", true),
    (".cache/node", false),
    (".cache/node-gyp", false),
    (".cache/pip", false),
    (".cache/pnpm", false),
    (".cache/pre-commit", true),
    (".cache/puppeteer", true),
    (".cache/uv", false),
    (".cache/yarn", false),
    (".deno", true),
    (".local/share/pnpm", true),
    (".local/share/uv", true),
    (".npm", false),
    (".pnpm-store", false),
    (".yarn", true),
];
/// Settings of git and of package runners below the home. They are left out where they hold credentials.
pub(crate) const SETTINGS: [&str; 6] = [
    ".config/git/config",
    ".config/pip/pip.conf",
    ".config/uv/uv.toml",
    ".gitconfig",
    ".npmrc",
    ".pip/pip.conf",
];
/// Words by which a line of settings holds credentials, in lower case.
pub(super) const SECRET_WORDS: [&str; 7] = [
    "_auth",
    "authorization",
    "extraheader",
    "passw",
    "secret",
    "token",
    "username",
];
/// Folders below the home that are too wide to be shown for one program.
pub(super) const BROAD: [&str; 6] = [
    ".bin",
    ".cache",
    ".config",
    ".local",
    ".local/share",
    ".local/state",
];
/// Files and folders below the home that hold credentials.
pub(crate) const CREDENTIALS: [&str; 45] = [
    ".ai-agent/.ai-agent.env",
    ".ai-agent/ai-agent.env",
    ".ansible",
    ".aws",
    ".azure",
    ".bash_history",
    ".boto",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude",
    ".claude.json",
    ".codex",
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/containers/auth.json",
    ".config/doctl",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".docker",
    ".gemini",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".local/share/uv/credentials",
    ".mozilla",
    ".my.cnf",
    ".netrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".python_history",
    ".rclone.conf",
    ".s3cfg",
    ".ssh",
    ".subversion",
    ".terraform.d",
    ".vault-token",
    ".zsh_history",
];
/// Folders of the system that hold credentials.
pub(crate) const SYSTEM_CREDENTIALS: [&str; 1] = ["/etc/ai-agent"];
