//! A running `recollect serve` that ends with the test, even if the test fails.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::binary::binary_path;
use crate::http::{self, Reply};

/// The time after which a test gives up. No measurement depends on it.
pub(crate) const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// Returns a command for the binary without the caller's settings.
pub(crate) fn recollect_command() -> Command {
    let mut command = Command::new(binary_path());
    for name in [
        "RECOLLECT_DATA",
        "RECOLLECT_PORT",
        "RECOLLECT_BIND",
        "RECOLLECT_CACHE_MB",
        "RECOLLECT_DURABILITY",
        "RECOLLECT_LOG",
        "RECOLLECT_URL",
        "RECOLLECT_KEY",
    ] {
        command.env_remove(name);
    }
    command
}

/// A server process with its children, all of which end when this value is dropped.
pub(crate) struct RecollectServer {
    child: Child,
    /// Standard output, which is kept open because the server writes to it after the first line.
    _stdout: Option<BufReader<ChildStdout>>,
    address: Option<SocketAddr>,
}

impl RecollectServer {
    /// Starts a server on a data folder and waits until it listens on its own port.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_with(folder, &[])
    }

    /// Starts a server with additional arguments.
    pub(crate) fn start_with(folder: &Path, more: &[&str]) -> Self {
        let mut server = Self::spawn_server(folder, more);
        server.wait_for_address(folder);
        server
    }

    /// Starts a server that can write files of at most `megabytes` megabytes each.
    pub(crate) fn start_with_file_limit(folder: &Path, megabytes: u32) -> Self {
        // The limit has units of 512 bytes. The signal is ignored because it would kill the server,
        // which should get an error instead.
        let limited = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", megabytes * 2048);
        let mut shell = Command::new("sh");
        shell.args(["-c", &limited, "sh"]).arg(binary_path());
        let mut server = Self::spawn_by(shell, folder, &[]);
        server.wait_for_address(folder);
        server
    }

    /// Starts another command of the binary that serves, and waits until it listens.
    pub(crate) fn start_command(mut command: Command, arguments: &[&str], folder: &Path) -> Self {
        command.args(arguments);
        let mut server = Self::spawn_process(command, folder);
        server.wait_for_address(folder);
        server
    }

    /// Starts a server without waiting for it.
    pub(crate) fn spawn_server(folder: &Path, more: &[&str]) -> Self {
        Self::spawn_by(recollect_command(), folder, more)
    }

    fn spawn_by(mut command: Command, folder: &Path, more: &[&str]) -> Self {
        command
            .args(["serve", "--port", "0", "--data"])
            .arg(folder)
            .args(more);
        Self::spawn_process(command, folder)
    }

    /// Starts a process that writes its errors into the file beside the folder.
    fn spawn_process(mut command: Command, folder: &Path) -> Self {
        let errors = File::options()
            .create(true)
            .append(true)
            .open(error_file(folder))
            .expect("a file beside the data folder");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(errors));
        in_own_group(&mut command);
        let child = command.spawn().expect("the binary starts");

        Self {
            child,
            _stdout: None,
            address: None,
        }
    }

    /// Reads the printed address. A separate thread reads standard output, because a read has no
    /// timeout.
    fn wait_for_address(&mut self, folder: &Path) {
        let mut output =
            BufReader::new(self.child.stdout.take().expect("standard output is a pipe"));
        let (say, hear) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let read = output.read_line(&mut line);
            say.send((line, read, output)).ok();
        });

        let errors = || std::fs::read_to_string(error_file(folder)).unwrap_or_default();
        let Ok((line, _, output)) = hear.recv_timeout(GIVE_UP_AFTER) else {
            panic!("the server never listens: {}", errors());
        };

        let address = line
            .split_once("http://")
            .and_then(|(_, rest)| rest.split_whitespace().next())
            .and_then(|address| address.parse().ok());
        let Some(address) = address else {
            panic!("no address in the first line {line:?}: {}", errors());
        };

        self.address = Some(address);
        self._stdout = Some(output);
    }

    /// Returns the address on which the server listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address.expect("the server was waited for")
    }

    /// Returns the process id, which is also the id of the process group.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request with a JSON body and the key `local`.
    pub(crate) fn try_call(&self, method: &str, path: &str, body: &Value) -> io::Result<Reply> {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        http::send(self.address(), method, path, &[], text.as_bytes())
    }

    /// Sends a request to a server that must answer.
    pub(crate) fn call(&self, method: &str, path: &str, body: &Value) -> Reply {
        self.try_call(method, path, body)
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Returns the status of a document; `None` if there is no such document.
    pub(crate) fn document_status(&self, id: &str) -> Option<String> {
        let reply = self.call("GET", &format!("/v3/documents/{id}"), &Value::Null);
        (reply.status == 200).then(|| reply.body["status"].as_str().unwrap_or_default().to_owned())
    }

    /// Waits until a document is `done`.
    pub(crate) fn wait_done(&self, id: &str) {
        let begun = Instant::now();
        loop {
            let reply = self.call("GET", &format!("/v3/documents/{id}"), &Value::Null);
            match reply.body["status"].as_str() {
                Some("done") => return,
                Some("failed") | None => panic!("{}", reply.body),
                Some(_) => assert!(
                    begun.elapsed() < GIVE_UP_AFTER,
                    "never done: {}",
                    reply.body
                ),
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until nothing is being processed.
    pub(crate) fn wait_until_idle(&self) {
        let begun = Instant::now();
        loop {
            let reply = self.call("GET", "/v3/documents/processing?view=pending", &json!(null));
            if reply.body["totalCount"] == 0 {
                return;
            }
            assert!(
                begun.elapsed() < GIVE_UP_AFTER,
                "work that never ends: {}",
                reply.body
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the server as a power cut would, but not the processes that it started.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a killed child ends");
    }

    /// Asks the server to end.
    pub(crate) fn terminate(&self) {
        send_signal("-TERM", &self.pid().to_string());
    }

    /// Waits until the server ends.
    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status;
            }
            assert!(begun.elapsed() < GIVE_UP_AFTER, "the server never ends");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for RecollectServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        // The group includes the children that parse documents, which may briefly outlive a killed
        // server.
        send_signal("-KILL", &format!("-{}", self.pid()));
    }
}

/// Returns the path of the file with the standard error of a server on this data folder.
pub(crate) fn error_file(folder: &Path) -> std::path::PathBuf {
    folder.with_extension("stderr")
}

fn send_signal(name: &str, process: &str) {
    let mut kill = Command::new("kill");
    kill.args([name, "--", process]).stderr(Stdio::null());
    kill.status().ok();
}

fn in_own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}
