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
        let attribution = match attribution {
            Some(found) => found,
            None => Attribution::new(medium, title_of(document, text)),
        };
        return Authorship::external_words(attribution);
    }

    let Some(attribution) = attribution else {
        return Authorship::own_words(own_trust);
    };
    match &settings.trusted_sources {
        Some(trusted) if is_trusted(trusted, document, text) => Authorship::own_words(own_trust),
        _ => Authorship::external_words(attribution),
    }
}

/// Returns the name of the provider's item, or else the title of the text. The title in the record of
/// the document is still that of its previous content.
fn title_of<'a>(document: &'a Document, text: &'a ExtractedText) -> Option<&'a str> {
    match &document.origin {
        Some(origin) => Some(origin.title.as_str()),
        None => text.title.as_deref(),
    }
}

/// Returns the place where somebody else's words were read, or `None` if the document's form makes
/// it the user's own.
fn find_attribution(document: &Document, text: &ExtractedText) -> Option<Attribution> {
    let title = title_of(document, text);
    let url = document.url.as_deref();
    if let Some(sender) = mail_sender_of(document, text) {
        return Some(Attribution::new(SourceMedium::Mail, sender.or(title)));
    }

    let is_crawled = match &document.origin {
        Some(origin) => origin.provider == Provider::WebCrawler,
        None => false,
    };
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
    if let Some(origin) = &document.origin
        && trusted.trusts_connection(origin)
    {
        return true;
    }

    if let Some(Some(sender)) = mail_sender_of(document, text)
        && trusted.trusts_sender(sender)
    {
        return true;
    }

    // A fetched page belongs to the host at the end of all redirects.
    let address = match document.body.form {
        BodyForm::Url => text.address.as_deref(),
        BodyForm::File { .. } | BodyForm::Text | BodyForm::Conversation => {
            document.origin.as_ref().and(document.url.as_deref())
        }
    };
    let Some(url) = address.and_then(parse_page_url) else {
        return false;
    };
    match url.host_str() {
        Some(host) => trusted.trusts_host(host),
        None => false,
    }
}
