//! Determines the authorship of a document: from the caller's declaration, or else from the kind of
//! document.

use domain::connection::Provider;
use domain::settings::TrustedSources;
use domain::{
    Attribution, Authorship, BodyForm, Document, Provenance, Settings, SourceMedium, Trust,
};
use extraction::parse_mail_sender;
use remote::parse_page_url;

use crate::read::ExtractedText;

/// Returns the authorship of a document. A declaration of the caller counts first. Otherwise
/// conversations and plain text are the user's own words, and mails, pages, files and items of
/// connections are somebody else's, unless the organization trusts their source.
pub(crate) fn determine_authorship(
    document: &Document,
    text: &ExtractedText,
    settings: &Settings,
) -> Authorship {
    let own_trust = match document.body.form {
        BodyForm::Conversation => Trust::User,
        // A transcript is read as the conversation that it is.
        BodyForm::Text if !text.turns.is_empty() => Trust::User,
        BodyForm::Text | BodyForm::File { .. } | BodyForm::Url => Trust::Document,
    };

    if document.provenance == Some(Provenance::User) {
        return Authorship::own_words(own_trust);
    }

    let attribution = find_attribution(document, text);
    if document.provenance == Some(Provenance::External) {
        let medium = if own_trust == Trust::User {
            SourceMedium::Transcript
        } else {
            SourceMedium::Text
        };
        let title = document.display_title();
        return Authorship::external_words(
            attribution.unwrap_or_else(|| Attribution::new(medium, title)),
        );
    }

    let trusted = settings.trusted_sources.as_ref();
    match attribution {
        Some(found) if !trusted.is_some_and(|trusted| is_trusted(trusted, document, text)) => {
            Authorship::external_words(found)
        }
        _ => Authorship::own_words(own_trust),
    }
}

/// Returns the place where somebody else's words were read, or `None` if the document's form makes
/// it the user's own.
fn find_attribution(document: &Document, text: &ExtractedText) -> Option<Attribution> {
    let title = document.display_title().or(text.title.as_deref());
    let url = document.url.as_deref();
    if let Some(sender) = mail_sender_of(document, text) {
        return Some(Attribution::new(SourceMedium::Mail, sender.or(title)));
    }

    let is_crawled = document
        .origin
        .as_ref()
        .is_some_and(|origin| origin.provider == Provider::WebCrawler);
    match document.body.form {
        BodyForm::Url => Some(Attribution::new(SourceMedium::Page, url)),
        _ if is_crawled => Some(Attribution::new(SourceMedium::Page, url.or(title))),
        BodyForm::File { .. } => Some(Attribution::new(SourceMedium::File, title)),
        BodyForm::Text if text.format == content::Format::Html => {
            Some(Attribution::new(SourceMedium::Page, title))
        }
        _ if document.origin.is_some() => Some(Attribution::new(SourceMedium::File, title)),
        BodyForm::Text | BodyForm::Conversation => None,
    }
}

/// Returns `None` if the document is not a mail, and otherwise its sender, if it names one.
pub(crate) fn mail_sender_of<'a>(
    document: &Document,
    text: &'a ExtractedText,
) -> Option<Option<&'a str>> {
    match document.body.form {
        _ if text.format == content::Format::Email => {
            Some(text.properties.get("author").map(String::as_str))
        }
        BodyForm::Text => parse_mail_sender(&text.text),
        BodyForm::File { .. } | BodyForm::Url | BodyForm::Conversation => None,
    }
}

fn is_trusted(trusted: &TrustedSources, document: &Document, text: &ExtractedText) -> bool {
    let is_trusted_connection = document
        .origin
        .as_ref()
        .is_some_and(|origin| trusted.trusts_connection(origin));
    let is_trusted_sender = mail_sender_of(document, text)
        .flatten()
        .is_some_and(|sender| trusted.trusts_sender(sender));
    // A fetched page belongs to the host at the end of all redirects.
    let address = match document.body.form {
        BodyForm::Url => text.address.as_deref(),
        BodyForm::File { .. } | BodyForm::Text | BodyForm::Conversation => {
            document.origin.as_ref().and(document.url.as_deref())
        }
    };
    let host = address
        .and_then(parse_page_url)
        .and_then(|url| url.host_str().map(str::to_owned));

    is_trusted_connection
        || is_trusted_sender
        || host.is_some_and(|host| trusted.trusts_host(&host))
}
