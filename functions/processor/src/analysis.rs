//! Analyzes the texts of documents, and stores and records the results.

use std::time::Duration;

use container_index::ChosenModel;
use content::Chunk;
use domain::container::Container;
use domain::document::ProcessingResult;
use domain::{
    Authorship, BlobRef, ContainerTag, Document, Job, JobMessage, Pack, Result, Settings,
    StatementSet, Tenant,
};
use service::{Ctx, RevisionResults, store_all_results};
use tokio::time::timeout;
use tracing::{Instrument, info, warn};

use crate::prepare::{self, PreparedPack};
use crate::provenance::determine_authorship;
use crate::read::{ContentReaders, ExtractedText};
use crate::statements::{ExtractedStatements, extract_statements};
use crate::summary::summarize_document;

/// The time that the chosen model has for the vectors of a document. Maintenance has longer.
const EMBEDDING_TIMEOUT: Duration = Duration::from_secs(30);

/// The settings and the container that apply to a document.
pub(crate) struct ProcessingContext {
    pub(crate) settings: Settings,
    /// The container of the document's first tag.
    pub(crate) container: Option<Container>,
}

impl ProcessingContext {
    /// Reads the context of documents with this first tag.
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn read(ctx: &Ctx, tenant: &Tenant, tag: &ContainerTag) -> Result<Self> {
        Ok(Self {
            settings: ctx.settings.get(tenant).await?,
            container: ctx.containers.get(tenant, tag).await?,
        })
    }
}

/// The content of a document that search serves now, as far as it can be read.
#[derive(Default)]
pub(crate) struct ServedResults {
    pub(crate) pack: Option<Pack>,
    pub(crate) statements: Option<StatementSet>,
}

/// The results of analyzing a text.
pub(crate) struct TextAnalysis {
    text: ExtractedText,
    authorship: Authorship,
    prepared: PreparedPack,
    extracted_statements: Option<ExtractedStatements>,
    summary: Option<String>,
    /// `false` if the chosen model has failed. The document is found by its built-in vectors until
    /// it is embedded.
    pub(crate) is_embedded: bool,
}

/// Embeds the chunks of a text, and determines its author, its statements and its summary. Vectors and
/// times of statements that `served` has are reused.
pub(crate) async fn analyze_text(
    readers: &ContentReaders,
    document: &Document,
    text: ExtractedText,
    chunks: Vec<Chunk>,
    context: &ProcessingContext,
    served: &ServedResults,
) -> TextAnalysis {
    let served_pack = served.pack.as_ref();
    let mut prepared = spans::step_span("embed chunks")
        .in_scope(|| prepare::embed_chunks(&text, chunks, served_pack));
    let is_embedded =
        embed_by_chosen_model(readers, document, &mut prepared.pack, served_pack).await;
    let authorship = determine_authorship(document, &text, &context.settings);
    let extracting = extract_statements(
        &readers.models,
        document,
        &text,
        &authorship,
        context,
        served.statements.as_ref(),
    );
    let extracted_statements = extracting
        .instrument(spans::step_span("extract memories"))
        .await;
    let summary = summarize_document(document, &text, &authorship, extracted_statements.as_ref());
    TextAnalysis {
        text,
        authorship,
        prepared,
        extracted_statements,
        summary,
        is_embedded,
    }
}

/// Adds the vectors of the model that the operator chose, if there is one. Returns `false` if it
/// fails.
async fn embed_by_chosen_model(
    readers: &ContentReaders,
    document: &Document,
    pack: &mut Pack,
    previous: Option<&Pack>,
) -> bool {
    let Some(model) = readers.embedder.clone().map(ChosenModel::new) else {
        return true;
    };
    let id = &document.id;
    match timeout(EMBEDDING_TIMEOUT, model.embed_pack(pack, previous)).await {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => {
            warn!(document.id = %id, error = &error as &dyn std::error::Error,
                "could not embed document {id} by the chosen model; it is tried again");
            false
        }
        Err(_) => {
            warn!(document.id = %id, "embedding document {id} takes long; it is done later");
            false
        }
    }
}

impl TextAnalysis {
    /// Checks whether the chunks are too large to be stored.
    pub(crate) fn is_too_large(&self) -> bool {
        self.prepared.pack.is_too_large()
    }

    /// Takes the results to store for the document.
    fn take_results<'a>(&mut self, document: &'a Document) -> RevisionResults<'a> {
        let statements = match &mut self.extracted_statements {
            Some(extracted) => std::mem::take(&mut extracted.statements),
            None => Vec::new(),
        };
        let chunks = self.prepared.pack.chunks.len();
        let (id, embedded, stated) = (&document.id, self.prepared.embedded, statements.len());
        info!(document.id = %id, chunks, embedded, stated,
            "read document {id}: {chunks} chunks, {embedded} of them new, {stated} statements");

        RevisionResults {
            document,
            pack: self.prepared.pack.encode().into(),
            statements: (!statements.is_empty())
                .then(|| StatementSet::new(statements).encode().into()),
        }
    }
}

/// Stores the results of documents, and returns the documents with them. Nothing is recorded yet. The
/// paths belong to the revision and the contents follow from its bytes, so a repetition changes
/// nothing.
///
/// # Errors
/// Those of the ports.
pub(crate) async fn store_analyses(
    ctx: &Ctx,
    tenant: &Tenant,
    mut analyses: Vec<(Document, TextAnalysis)>,
) -> Result<Vec<Document>> {
    let results = analyses
        .iter_mut()
        .map(|(document, analysis)| analysis.take_results(document))
        .collect();
    let stored = store_all_results(ctx, tenant, results).await?;

    let mut documents = Vec::with_capacity(analyses.len());
    for ((mut document, analysis), stored) in analyses.into_iter().zip(stored) {
        let TextAnalysis { text, prepared, .. } = analysis;
        let mut statements_ref = analysis
            .extracted_statements
            .map(|extracted| extracted.statements_ref);
        if let Some(statements_ref) = &mut statements_ref {
            statements_ref.statements = stored.statements;
        }
        let results = ProcessingResult {
            revision: document.revision.clone(),
            pack: stored.pack,
            chunks: u32::try_from(prepared.pack.chunks.len()).unwrap_or(u32::MAX),
            statements_ref,
            authorship: Some(analysis.authorship),
            summary: analysis.summary,
        };
        (document.kind, document.title, document.properties) =
            (text.kind, text.title, text.properties);
        document.extracted = Some(results);
        documents.push(document);
    }
    Ok(documents)
}

/// Records the stored results of a document, which is then to be committed. Returns `false` if the
/// revision is no longer wanted.
///
/// # Errors
/// Those of the ports.
pub(crate) async fn record_results(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<bool> {
    let now = ctx.clock.now();
    let is_recorded = ctx
        .documents
        .record_extracted(tenant, document, now)
        .await?;
    if !is_recorded {
        discard_results(ctx, tenant, document).await?;
    }
    Ok(is_recorded)
}

/// Deletes the results of a revision that is no longer wanted: the document was deleted or replaced
/// meanwhile, and the purge may have run before the results were stored. Blobs stay if the document
/// refers to them or may still do so: a faster worker with the same message may have recorded them.
async fn discard_results(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<()> {
    let Some(results) = &document.extracted else {
        return Ok(());
    };
    if let Some(current) = ctx.documents.get_one(tenant, &document.id).await? {
        let is_served = match &current.indexed {
            Some(indexed) => indexed.pack == results.pack,
            None => false,
        };
        if is_served || current.is_newest_revision(&document.revision) {
            return Ok(());
        }
    }

    let blobs: Vec<BlobRef> = results.blobs().cloned().collect();
    ctx.blobs.delete(tenant, &blobs).await?;
    Ok(())
}

/// Returns the message that requests the commit of a processed document.
pub(crate) fn commit_message(tenant: &Tenant, document: &Document) -> JobMessage {
    let job = Job::CommitV1 {
        document: document.id.clone(),
        revision: document.revision.clone(),
        container: document.container.clone(),
    };
    JobMessage::new(tenant.org(), job)
}
