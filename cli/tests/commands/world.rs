//! A machine with the program, a home folder and some notes.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The time after which a test gives up. No measurement depends on it.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// A folder in which the program runs, without the settings of whoever runs the test.
pub(crate) struct World {
    folder: TempDir,
    /// The arguments that name the service, after each command.
    target: Vec<String>,
    _server: Option<Server>,
}

/// The output of a command, and its exit code.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A process that ends with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    _stdout: BufReader<ChildStdout>,
}

impl World {
    /// Returns a world without a service. Nothing answers on the port of this machine's server.
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            target: Vec::new(),
            _server: None,
        }
    }

    /// Returns a world in which commands open a data folder.
    pub(crate) fn with_folder() -> Self {
        let mut world = Self::new();
        let data = world.path("data").display().to_string();
        world.target = vec!["--data".to_owned(), data];
        world
    }

    /// Returns a world in which commands call a server.
    pub(crate) fn with_server() -> Self {
        let mut world = Self::new();
        let server = world.start_server();
        world.target = vec!["--url".to_owned(), server.url.clone()];
        world._server = Some(server);
        world
    }

    /// Starts a server on a free port.
    pub(crate) fn start_server(&self) -> Server {
        let mut command = self.command(&["serve", "--port", "0", "--data"]);
        command.arg(self.path("data")).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"));
        let url = url
            .unwrap_or_else(|| panic!("no address in {line:?}"))
            .to_owned();
        Server {
            child,
            url,
            _stdout: stdout,
        }
    }

    /// Returns the path of a file in the folder of this world.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Returns a command of the program.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_recollect"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RECOLLECT_") {
                command.env_remove(name);
            }
        }
        // Nothing listens on port 1, so no server of the developer is found.
        command
            .env("RECOLLECT_PORT", "1")
            .env("XDG_CONFIG_HOME", self.path("settings"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .args(arguments);
        command
    }

    /// Runs a command with the service of this world.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        let mut command = self.command(arguments);
        ended(command.args(&self.target).output().unwrap())
    }

    /// Runs a command that must succeed, and returns what it printed.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        ended.stdout
    }

    /// Runs a command that must succeed, and returns the JSON that it printed.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let printed = self.succeed(&[arguments, &["--json"]].concat());
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
    }

    /// Runs a command without the service of this world, with a text on its standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ended {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        ended(child.wait_with_output().unwrap())
    }

    /// Starts a command with the service of this world, which runs until the test ends it.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.args(&self.target).stdout(Stdio::piped());
        command.spawn().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(crate) fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Waits until `condition` holds.
pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < GIVE_UP_AFTER, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the bundled PDF, which is about the rental of boats.
pub(crate) fn read_pdf() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/rental-terms.pdf");
    fs::read(path).unwrap()
}
