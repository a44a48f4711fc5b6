//! From a question to the chunks that answer it, over every container in scope.

use domain::usecase::{Scope, containers, path_matches};
use domain::{Filter, Metadata, PortError, Result, SearchDocument, Tenant};
use index::attributes;
use retrieval::{ContainerIndex, DocumentView, Embedder, Hit, Query, StaticEmbedder};

use crate::Recall;

/// What to look for, in which documents.
pub(crate) struct Question<'a> {
    pub(crate) text: &'a str,
    pub(crate) scope: Scope,
    pub(crate) filter: Option<Filter>,
    pub(crate) filepath: Option<String>,
    pub(crate) only_document: Option<&'a str>,
    pub(crate) limit: usize,
}

/// A hit with what the index knows of its document.
pub(crate) struct Found {
    pub(crate) hit: Hit,
    pub(crate) document: SearchDocument,
}

/// What a search saw: the hits, best first, and the indexes they came from.
pub(crate) struct Answer {
    pub(crate) found: Vec<Found>,
    pub(crate) indexes: Vec<ContainerIndex>,
}

pub(crate) async fn ask(recall: &Recall, tenant: &Tenant, question: &Question<'_>) -> Result<Answer> {
    let ctx = &recall.app.ctx;
    let mut indexes = Vec::new();
    for container in containers(ctx, tenant, &question.scope).await? {
        for id in &container.ids {
            indexes.push(recall.cache.open(ctx, tenant, id).await?);
        }
    }
    let admit = |view: &DocumentView<'_>| admits(question, view);
    let filtered = question.filter.is_some() || question.filepath.is_some();
    let query = Query {
        limit: question.limit,
        admit: if filtered { Some(&admit) } else { None },
        only_document: question.only_document,
        ..Query::new(question.text, StaticEmbedder.embed(question.text))
    };
    let parts: Vec<&ContainerIndex> = indexes.iter().collect();
    let response =
        retrieval::search(&parts, &query).map_err(|error| PortError::Corrupt(error.to_string()))?;
    let with_document = |hit: Hit| Ok(Found { document: attributes(&hit.attributes)?, hit });
    let found =
        response.hits.into_iter().map(with_document).collect::<std::result::Result<_, PortError>>()?;
    Ok(Answer { found, indexes })
}

fn admits(question: &Question<'_>, view: &DocumentView<'_>) -> bool {
    // A document whose attributes cannot be read is left out rather than shown against a filter.
    let Ok(document) = attributes(view.attributes) else {
        return false;
    };
    let path =
        question.filepath.as_ref().is_none_or(|wanted| path_matches(wanted, document.filepath.as_deref()));
    path && question
        .filter
        .as_ref()
        .is_none_or(|filter| filter.matches(&Metadata::from_stored(document.metadata)))
}
