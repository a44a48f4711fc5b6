//! The pages that users see.

use super::ConsentForm;
use super::authorize::is_identity;
use crate::drive_contents::Account;
use crate::wire::{Reply, escape_html};

const STYLE: &str = "<meta name=\"viewport\" content=\"width=device-width\"><style>body{font:16px/1.5 system-ui;\
    max-width:28rem;margin:3rem auto;padding:0 1rem}label{display:block;margin:.4rem 0}button{font:inherit;\
    padding:.4rem 1rem;margin:1rem .5rem 0 0}</style>";

/// Renders a page that says why the consent request is invalid.
pub(super) fn render_error(error: &str, message: &str) -> Reply {
    let status = if error == "invalid_client" { 401 } else { 400 };
    let (error, message) = (escape_html(error), escape_html(message));
    Reply::html_reply(
        status,
        &format!("<title>Error</title>{STYLE}<h1>Error {status}: {error}</h1><p>{message}</p>"),
    )
}

/// Renders the consent page, with the accounts to choose from and the permissions to grant.
pub(super) fn render_consent<'a>(
    name: &str,
    request: &ConsentForm,
    accounts: impl Iterator<Item = &'a Account>,
) -> Reply {
    let accounts: Vec<_> = accounts.collect();
    let hinted_index = accounts
        .iter()
        .position(|account| Some(&account.email) == request.hint.as_ref())
        .unwrap_or(0);
    let account_option = |(at, account): (usize, &&Account)| {
        let (email, name) = (escape_html(&account.email), escape_html(&account.name));
        let checked = if at == hinted_index { " checked" } else { "" };
        format!(
            "<label><input type=\"radio\" name=\"account\" value=\"{email}\"{checked}> {name} ({email})</label>"
        )
    };
    let account_options: String = accounts.iter().enumerate().map(account_option).collect();

    let scope_option = |scope: &String| {
        let (text, scope) = (escape_html(describe_scope(scope)), escape_html(scope));
        format!(
            "<label><input type=\"checkbox\" name=\"scope\" value=\"{scope}\" checked> {text}</label>"
        )
    };

    let scope_options: String = request
        .scopes
        .iter()
        .filter(|scope| !is_identity(scope))
        .map(scope_option)
        .collect();
    Reply::html_reply(
        200,
        &format!(
            "<title>Permission</title>{STYLE}<h1>An app asks for permission</h1>\
             <p>This is not the real drive: it is one for tests and demonstrations, with made-up accounts.</p>\
             <form method=\"post\" action=\"/o/oauth2/v2/auth/answer\">\
             <input type=\"hidden\" name=\"request\" value=\"{name}\"><fieldset><legend>Account</legend>{account_options}\
             </fieldset><fieldset><legend>{app} may</legend>{scope_options}</fieldset>\
             <button name=\"decision\" value=\"allow\">Allow</button>\
             <button name=\"decision\" value=\"deny\">Deny</button></form>",
            app = escape_html(&request.client),
        ),
    )
}

fn describe_scope(scope: &str) -> &str {
    match scope.rsplit('/').next() {
        Some("drive.readonly") => "see and download all files of the drive",
        Some("drive.file") => "see the files of the drive that are chosen for it",
        _ => scope,
    }
}
