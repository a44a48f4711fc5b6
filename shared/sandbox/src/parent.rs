//! The server's side: starts a child process for each document that needs a parser, and reads its
//! result.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use content::{
    ContentFailure, ContentSource, ExtractedDocument, FailureCode, extract_document, is_plain_text,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use crate::{CHILD_ARGUMENT, ChildHeader, Confinement, SandboxError};

/// The longest time that a document may take, including the start of the process.
pub const WALL_TIME: Duration = Duration::from_secs(60);
/// The most bytes of a result: room for the largest text as JSON with every character escaped, and
/// more.
const MAX_RESULT_BYTES: u64 = 3 * content::MAX_TEXT_BYTES as u64;

/// The most bytes that are read of a child's standard error: enough for the message of a failed
/// allocation.
const MAX_STDERR_BYTES: u64 = 16 * 1024;
/// The signals by which the system ends a child that exceeds its limits.
const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;
/// The environment of a child: one thread, and heaps that reserve little and commit only what they use,
/// because both count towards the limits. The functions have the allocator of the system, and the
/// program has mimalloc.
const CHILD_ENVIRONMENT: [(&str, &str); 4] = [
    ("RAYON_NUM_THREADS", "1"),
    ("MALLOC_ARENA_MAX", "1"),
    ("MIMALLOC_ARENA_RESERVE", "32MiB"),
    ("MIMALLOC_ARENA_EAGER_COMMIT", "0"),
];

/// Programs that start another one at a lower priority, where they are installed. Requests and
/// small documents take precedence over parsers.
const NICE_PROGRAMS: [&str; 2] = ["/usr/bin/nice", "/bin/nice"];
/// The decrease in priority: it leaves a tenth of the processor while others need it.
const NICENESS: &str = "10";

/// Extracts documents, in a child process where necessary.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// The executable to start; `None` extracts everything in this process.
    executable: Option<PathBuf>,
    /// The program that lowers the priority of a child.
    nice: Option<&'static Path>,
    wall_time: Duration,
}

impl Sandbox {
    /// Creates a sandbox without a child process, for tests: everything runs in the calling
    /// process.
    pub fn in_process() -> Self {
        Self {
            executable: None,
            nice: None,
            wall_time: WALL_TIME,
        }
    }

    /// Creates a sandbox that starts `executable` with [`CHILD_ARGUMENT`]. It is usually the
    /// running one (`std::env::current_exe`).
    pub fn in_child(executable: PathBuf) -> Self {
        let nice = NICE_PROGRAMS
            .map(Path::new)
            .into_iter()
            .find(|path| path.exists());
        Self {
            executable: Some(executable),
            nice,
            wall_time: WALL_TIME,
        }
    }

    /// Changes the limit on the wall time of one document.
    pub fn with_wall_time(self, wall_time: Duration) -> Self {
        Self { wall_time, ..self }
    }

    /// Starts a child that reads nothing, and returns the walls that the kernel supports; `None` if
    /// no child is used.
    ///
    /// # Errors
    /// An error if no child can be started, or if its answer cannot be read.
    pub async fn probe_walls(&self) -> io::Result<Option<Confinement>> {
        let Some(executable) = &self.executable else {
            return Ok(None);
        };

        let header = ChildHeader {
            name: None,
            declared: None,
            size: 0,
            asks_for_walls: true,
        };

        let mut child = self.build_command(executable).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let exchange = async {
            tokio::join!(
                write_document(input, &header, &[]),
                read_pipe(output, MAX_RESULT_BYTES)
            )
        };
        let (write_result, answer) = timeout(self.wall_time, exchange).await?;
        write_result?;

        Ok(Some(serde_json::from_slice(&answer?)?))
    }

    /// Extracts one document.
    ///
    /// Plain text, Markdown, code and data are read in this process, because they need no parser.
    /// Everything else is read in a child. Dropping the future kills the child.
    ///
    /// # Errors
    /// [`SandboxError::Content`] for a document that cannot be read, with `content_limit` if it
    /// took more memory or time than allowed. [`SandboxError::Unavailable`] if no child could be
    /// started, or if the communication with it failed.
    pub async fn extract_document(
        &self,
        bytes: &[u8],
        name: Option<&str>,
        declared: Option<&str>,
    ) -> Result<ExtractedDocument, SandboxError> {
        let in_process =
            extract_in_process(bytes, name, declared, self.executable.is_none()).await?;
        match (in_process, &self.executable) {
            (None, Some(executable)) => {
                self.extract_in_child(executable, bytes, name, declared)
                    .await
            }
            (Some(extracted), _) => Ok(extracted),
            (None, None) => Err(SandboxError::Unavailable(io::Error::other(
                "nothing to start",
            ))),
        }
    }

    async fn extract_in_child(
        &self,
        executable: &Path,
        bytes: &[u8],
        name: Option<&str>,
        declared: Option<&str>,
    ) -> Result<ExtractedDocument, SandboxError> {
        let header = ChildHeader {
            name: name.map(str::to_owned),
            declared: declared.map(str::to_owned),
            size: bytes.len(),
            asks_for_walls: false,
        };

        let mut child = self
            .build_command(executable)
            .spawn()
            .map_err(SandboxError::Unavailable)?;
        match timeout(
            self.wall_time,
            exchange_document(&mut child, &header, bytes),
        )
        .await
        {
            Ok(answer) => answer,
            Err(_) => {
                // This also reaps the child. It may be gone already, so an error is ignored.
                let _ = child.kill().await;
                Err(timeout_failure(self.wall_time).into())
            }
        }
    }

    fn build_command(&self, executable: &Path) -> Command {
        let mut command = match self.nice {
            Some(nice) => {
                let mut command = Command::new(nice);
                command.args(["-n", NICENESS]).arg(executable);
                command
            }
            None => Command::new(executable),
        };

        command
            .arg(CHILD_ARGUMENT)
            .env_clear()
            .envs(CHILD_ENVIRONMENT)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}

/// Extracts plain text, Markdown, code or data in this process. Returns `None` for everything that
/// needs a parser.
///
/// # Errors
/// [`SandboxError::Content`] for a text that cannot be read.
pub async fn extract_plain_text(
    bytes: &[u8],
    name: Option<&str>,
    declared: Option<&str>,
) -> Result<Option<ExtractedDocument>, SandboxError> {
    extract_in_process(bytes, name, declared, false).await
}

/// Extracts in this process, on a thread that may block. Returns `None` for a format that needs a
/// parser, unless `allow_parsers` is set.
async fn extract_in_process(
    bytes: &[u8],
    name: Option<&str>,
    declared: Option<&str>,
    allow_parsers: bool,
) -> Result<Option<ExtractedDocument>, SandboxError> {
    let (bytes, name, declared) = (
        bytes.to_vec(),
        name.map(str::to_owned),
        declared.map(str::to_owned),
    );
    let extraction = tokio::task::spawn_blocking(move || {
        let source = ContentSource {
            bytes: &bytes,
            name: name.as_deref(),
            declared_type: declared.as_deref(),
        };
        let is_allowed = allow_parsers || is_plain_text(&source);
        if is_allowed {
            extract_document(&source).map(Some)
        } else {
            Ok(None)
        }
    });

    // The task fails only if the runtime shuts down, because the extraction itself catches panics.
    Ok(extraction
        .await
        .map_err(|error| SandboxError::Unavailable(io::Error::other(error)))??)
}

/// Sends the document and waits for the result.
async fn exchange_document(
    child: &mut Child,
    header: &ChildHeader,
    bytes: &[u8],
) -> Result<ExtractedDocument, SandboxError> {
    let (input, output, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (write_result, answer, stderr_bytes) = tokio::join!(
        write_document(input, header, bytes),
        read_pipe(output, MAX_RESULT_BYTES),
        read_pipe(stderr, MAX_STDERR_BYTES)
    );
    let answer = answer.map_err(SandboxError::Unavailable)?;
    let status = child.wait().await.map_err(SandboxError::Unavailable)?;
    if !status.success() {
        return Err(error_from_exit(
            status,
            write_result,
            &String::from_utf8_lossy(&stderr_bytes.unwrap_or_default()),
        ));
    }

    let result: Result<ExtractedDocument, ContentFailure> =
        serde_json::from_slice(&answer).map_err(|error| SandboxError::Unavailable(error.into()))?;
    Ok(result?)
}

/// Reads a pipe to its end, and keeps the first `limit` bytes.
async fn read_pipe(pipe: Option<impl AsyncRead + Unpin>, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        (&mut pipe).take(limit).read_to_end(&mut bytes).await?;
        // A full pipe would block the child.
        tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

async fn write_document(
    input: Option<ChildStdin>,
    header: &ChildHeader,
    bytes: &[u8],
) -> io::Result<()> {
    let Some(mut input) = input else {
        return Ok(());
    };
    let header = serde_json::to_vec(header)?;
    let length = u32::try_from(header.len()).map_err(io::Error::other)?;
    input.write_all(&length.to_be_bytes()).await?;
    input.write_all(&header).await?;
    input.write_all(bytes).await?;
    input.shutdown().await
}

/// Translates the end of a child into an error.
fn error_from_exit(status: ExitStatus, write_result: io::Result<()>, stderr: &str) -> SandboxError {
    match (status.signal(), write_result) {
        (Some(SIGXCPU | SIGKILL), _) => {
            limit_failure("Reading the document took more time or memory than is allowed.").into()
        }
        // In both of these cases, the runtime prints these words and aborts.
        (Some(_), _) if stderr.contains("memory allocation of") => {
            limit_failure("Reading the document took more memory than is allowed.").into()
        }
        (Some(_), _) if stderr.contains("overflowed its stack") => {
            limit_failure("The document is nested too deeply.").into()
        }
        (Some(_), _) => {
            let message = "The file could not be read: its structure crashed the reader.";
            ContentFailure::new(FailureCode::Corrupt, message).into()
        }
        // The child exited by itself without an answer, which is not the fault of the document.
        (None, Err(error)) => SandboxError::Unavailable(error),
        (None, Ok(())) => {
            SandboxError::Unavailable(io::Error::other(format!("the child ended with {status}")))
        }
    }
}

fn limit_failure(message: &str) -> ContentFailure {
    ContentFailure::new(FailureCode::ContentLimit, message)
}

fn timeout_failure(allowed: Duration) -> ContentFailure {
    limit_failure(&format!(
        "Reading the document took longer than {} seconds.",
        allowed.as_secs_f32()
    ))
}
