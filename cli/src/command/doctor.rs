//! `recollect doctor`: finds what is wrong with a deployment on AWS.

use std::process::ExitCode;

use anyhow::Result;
use api_client::ApiClient;
use stack::{Account, DeployedStack, Finding, Severity};

use super::place::{open_stack, operator_tenant};
use super::trial::try_deployment;
use crate::arguments::Doctor;

/// The exit code if something is wrong.
const EXIT_PROBLEMS: u8 = 3;
/// The version of this program.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) async fn run_doctor(options: Doctor) -> Result<ExitCode> {
    let account = Account::connect(options.stack.region.as_deref()).await?;
    let stack = DeployedStack::get(&account, &options.stack.stack).await?;
    let mut findings = stack.inspect(&account, VERSION).await;
    let url = options.url.as_deref().map_or_else(|| stack.api_url(), Ok);
    match url {
        Ok(url) => {
            findings.push(inspect_api(url).await);
            if options.trial {
                findings.push(try_api(&account, &stack, &options.org, url).await);
            }
        }
        Err(error) => findings.push(Finding::failure("API", &error)),
    }

    print_findings(&findings);
    let is_broken = findings
        .iter()
        .any(|finding| finding.severity == Severity::Problem);
    Ok(match is_broken {
        true => ExitCode::from(EXIT_PROBLEMS),
        false => ExitCode::SUCCESS,
    })
}

/// Adds, searches and deletes a document.
async fn try_api(account: &Account, stack: &DeployedStack, org: &str, url: &str) -> Finding {
    let trial = async {
        let ctx = open_stack(account, stack)?;
        try_deployment(&ctx, &operator_tenant(org)?, url).await
    };
    match trial.await {
        Ok(times) => Finding::new(Severity::Fine, "trial", times.to_string()),
        Err(error) => Finding::failure("trial", &error),
    }
}

async fn inspect_api(url: &str) -> Finding {
    let client = match ApiClient::over_http(url) {
        Ok(client) => client,
        Err(error) => return Finding::new(Severity::Problem, "API", error.to_string()),
    };
    match client.send(api_client::Method::GET, "/health", None).await {
        Ok(_) => Finding::new(Severity::Fine, "API", format!("{url} answers")),
        Err(error) => Finding::new(Severity::Problem, "API", format!("{url}: {error}")),
    }
}

fn print_findings(findings: &[Finding]) {
    let width = findings
        .iter()
        .map(|finding| finding.subject.len())
        .max()
        .unwrap_or_default();
    for finding in findings {
        let mark = match finding.severity {
            Severity::Fine => "ok",
            Severity::Warning => "warning",
            Severity::Problem => "problem",
        };
        print_line!("{mark:<8} {:<width$}  {}", finding.subject, finding.message);
    }
}
