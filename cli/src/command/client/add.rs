//! `recollect add`: adds files, folders, pages and text.

pub(super) mod find;
pub(super) mod send;
pub(super) mod wait;

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::output::{Outcome, Output, one_line, print_note};
use super::target::{OpenService, Purpose};
use crate::arguments::Add;
use crate::command::place::argument;
use crate::command::progress::progress_bar;
use crate::counts::count;
use find::find_files;
use send::{Accepted, Sender, Source};
use wait::{Processed, wait_for_all};

/// The documents that are sent at a time.
const PARALLEL: usize = 4;
/// The progress of sending and processing.
const PROGRESS_TEMPLATE: &str = "{msg} [{bar:24}] {pos}/{len} documents";
/// With more documents, each is named only if it failed.
const MAX_NAMED: usize = 20;

/// Everything that the command line names.
#[derive(Debug, Default)]
struct Inputs {
    sources: Vec<Source>,
    hidden: Vec<String>,
    failures: Vec<(String, String)>,
}

/// The outcome of adding everything.
struct AddReport {
    accepted: Vec<Accepted>,
    /// The outcome of each; empty if nobody waited.
    processed: Vec<Processed>,
    hidden: Vec<String>,
    failures: Vec<(String, String)>,
}

pub(super) async fn run_add(options: Add) -> Result<Outcome> {
    let output = Output::stdout(options.output.json);
    let inputs = read_inputs(&options)?;
    if inputs.sources.is_empty() && inputs.failures.is_empty() {
        print_note("There are no files to add. Hidden files are added only if they are named.");
        return Ok(Outcome::NothingFound);
    }
    if options.id.is_some() && inputs.sources.len() != 1 {
        bail!("--id is for a single document; leave it out, and each file gets an id of its own");
    }

    let purpose = match options.no_wait {
        true => Purpose::Change,
        false => Purpose::Process,
    };
    let service = OpenService::open(&options.target, purpose).await?;
    let sender = Sender::new(&service.client, &options.marking, options.id.clone());
    let (accepted, refused) = send_all(&sender, &inputs.sources).await?;

    let processed = match options.no_wait {
        true => Vec::new(),
        false => {
            let bar = progress_bar(PROGRESS_TEMPLATE, accepted.len())?;
            bar.set_message("Processing");
            let processed = wait_for_all(&service.client, &accepted, &bar).await;
            bar.finish_and_clear();
            processed?
        }
    };

    let mut failures = inputs.failures;
    failures.extend(refused);
    let report = AddReport {
        accepted,
        processed,
        hidden: inputs.hidden,
        failures,
    };
    match output.is_json {
        true => output.print_json(&report.to_json())?,
        false => output.print(&report.to_text(&output, &service))?,
    }
    service.close().await;
    Ok(report.outcome())
}

/// Reads what the command line names. Nothing is sent if an input is missing.
fn read_inputs(options: &Add) -> Result<Inputs> {
    let mut inputs = Inputs::default();
    if let Some(content) = options.text.clone() {
        inputs.push_text("the text", content)?;
    }
    for input in &options.inputs {
        if input == "-" {
            let mut content = String::new();
            std::io::stdin()
                .read_to_string(&mut content)
                .context("read a text from standard input")?;
            inputs.push_text("standard input", content)?;
        } else if remote::parse_page_url(input).is_some() {
            inputs.sources.push(Source::Page(input.trim().to_owned()));
        } else {
            let found = find_files(Path::new(input))?;
            inputs
                .sources
                .extend(found.files.into_iter().map(Source::File));
            inputs.hidden.extend(found.hidden);
            inputs.failures.extend(found.failures);
        }
    }
    Ok(inputs)
}

impl Inputs {
    fn push_text(&mut self, name: &'static str, content: String) -> Result<()> {
        if content.trim().is_empty() {
            bail!("{name} is empty");
        }
        self.sources.push(Source::Text { name, content });
        Ok(())
    }
}

/// Sends everything, and returns what was accepted and what was refused.
async fn send_all(
    sender: &Sender,
    sources: &[Source],
) -> Result<(Vec<Accepted>, Vec<(String, String)>)> {
    let bar = progress_bar(PROGRESS_TEMPLATE, sources.len())?;
    bar.set_message("Sending");
    let sending = sources.iter().map(|source| {
        let bar = bar.clone();
        async move {
            let sent = sender.send(source).await;
            bar.inc(1);
            sent.map_err(|reason| (source.shown().to_owned(), reason))
        }
    });
    let mut sending = stream::iter(sending).buffered(PARALLEL);

    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    while let Some(sent) = sending.next().await {
        match sent {
            Ok(document) => accepted.push(document),
            Err(failure) => refused.push(failure),
        }
    }
    bar.finish_and_clear();
    Ok((accepted, refused))
}

impl AddReport {
    /// Returns all failures: of finding, of sending and of processing.
    fn all_failures(&self) -> Vec<(&str, &str)> {
        let mut failures: Vec<(&str, &str)> = self
            .failures
            .iter()
            .map(|(source, reason)| (source.as_str(), reason.as_str()))
            .collect();
        for (document, processed) in self.accepted.iter().zip(&self.processed) {
            let reason = match processed {
                Processed::Done => continue,
                Processed::Failed(reason) => reason,
                Processed::Gone => "it was deleted meanwhile",
                Processed::Unfinished => "it is still being processed; see recollect status",
            };
            failures.push((&document.source, reason));
        }
        failures
    }

    /// Returns the documents that did not fail.
    fn added(&self) -> Vec<&Accepted> {
        let accepted = self.accepted.iter().enumerate();
        accepted
            .filter(|(index, _)| {
                let processed = self.processed.get(*index);
                processed.is_none_or(|processed| *processed == Processed::Done)
            })
            .map(|(_, document)| document)
            .collect()
    }

    fn outcome(&self) -> Outcome {
        match (self.added().is_empty(), self.all_failures().is_empty()) {
            (_, true) => Outcome::Done,
            (true, false) => Outcome::Failed,
            (false, false) => Outcome::PartlyFailed,
        }
    }

    fn to_json(&self) -> Value {
        let documents = self.added().into_iter().map(|document| {
            let status = match self.processed.is_empty() {
                true => document.status.as_str(),
                false => "done",
            };
            json!({
                "source": document.source, "id": document.id, "status": status,
                "unchanged": document.is_unchanged,
            })
        });
        let failures = self.all_failures().into_iter();
        let failures = failures.map(|(source, error)| json!({"source": source, "error": error}));
        json!({
            "documents": documents.collect::<Vec<_>>(),
            "failures": failures.collect::<Vec<_>>(),
            "hidden": self.hidden,
        })
    }

    fn to_text(&self, output: &Output, service: &OpenService) -> String {
        let mut text = String::new();
        let added = self.added();
        if added.len() <= MAX_NAMED {
            for document in &added {
                let note = match (document.is_unchanged, self.processed.is_empty()) {
                    (true, _) => "unchanged",
                    (false, true) => "queued",
                    (false, false) => "added",
                };
                let id = output.dim(&document.id);
                let source = one_line(&document.source);
                text += &format!("{} {source}  {id}\n", output.green(note));
            }
        }
        for (source, reason) in self.all_failures() {
            let (source, reason) = (one_line(source), one_line(reason));
            text += &format!("{} {source}: {reason}\n", output.red("failed"));
        }
        if !self.hidden.is_empty() {
            let number = count(self.hidden.len(), "hidden entry");
            let first = one_line(&self.hidden[0]);
            text += &output.dim(&format!("Left out {number}, such as {first}."));
            text.push('\n');
        }
        text + &self.summary(service)
    }

    fn summary(&self, service: &OpenService) -> String {
        let added = self.added();
        let unchanged = added
            .iter()
            .filter(|document| document.is_unchanged)
            .count();
        let failed = self.all_failures().len();
        let is_queued = self.processed.is_empty() && !added.is_empty();
        let verb = match is_queued {
            true => "Queued",
            false => "Added",
        };

        let mut summary = format!(
            "{verb} {} to {}",
            count(added.len() - unchanged, "document"),
            service.name
        );
        if unchanged > 0 {
            summary += &format!("; {unchanged} unchanged");
        }
        if failed > 0 {
            summary += &format!("; {failed} failed");
        }
        summary.push_str(".\n");
        if is_queued && let Some(folder) = &service.folder {
            let data = argument("--data", &folder.display().to_string());
            summary += &format!(
                "A running server processes them, or:  recollect work --until-idle{data}\n"
            );
        }
        summary
    }
}
