//! Containers with documents in all states, and lists of them.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use container_index::{IndexedDocuments, ViewCache};
use domain::ports::{ClaimOutcome, PortResult};
use domain::{
    ContainerId, ContainerTag, Document, DocumentChange, DocumentId, DocumentStatus, DocumentType,
    FailureCode, Filter, IndexHead, Metadata, ProcessingFailure, Revision, Tenant,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use service::{
    ContainerScope, Ctx, DocumentPage, ListQuery, ServedDocuments, SortBy, SortKey, SortTime,
    list_documents, path_matches,
};

use crate::setting::{PortFixture, retry_unavailable};

const UNFINISHED: [DocumentStatus; 5] = [
    DocumentStatus::Queued,
    DocumentStatus::Extracting,
    DocumentStatus::Chunking,
    DocumentStatus::Embedding,
    DocumentStatus::Indexing,
];

/// The states in which the documents of a test are.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Queued,
    Claimed,
    Extracted,
    Done,
    /// Failed at once.
    Failed,
    /// Failed with a second revision, while search serves the first.
    FailedServed,
    /// Queued with a second revision, while search serves the first.
    QueuedServed,
    /// Done, and then damaged.
    Damaged,
    Deleted,
}

pub(super) const STATES: [State; 9] = [
    State::Queued,
    State::Claimed,
    State::Extracted,
    State::Done,
    State::Failed,
    State::FailedServed,
    State::QueuedServed,
    State::Damaged,
    State::Deleted,
];

/// Reads the indexes of all containers, however small they are.
pub(super) struct AllIndexes {
    cache: ViewCache<IndexedDocuments>,
    pub(super) reads: AtomicUsize,
}

impl AllIndexes {
    fn new() -> Self {
        Self {
            cache: ViewCache::new(1 << 20),
            reads: AtomicUsize::new(0),
        }
    }
}

#[async_trait]
impl ServedDocuments for AllIndexes {
    async fn select(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        container: &ContainerId,
        sort_time: &SortTime<'_>,
    ) -> PortResult<Option<Vec<SortKey>>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.cache.select(ctx, tenant, container, sort_time).await
    }

    fn is_worthwhile(&self, _: &IndexHead) -> bool {
        true
    }
}

/// A world with documents in all states in several containers.
pub(super) struct Listed<'a> {
    pub(super) setting: &'a PortFixture,
    pub(super) containers: Vec<ContainerId>,
    pub(super) indexes: AllIndexes,
}

impl<'a> Listed<'a> {
    /// Creates empty containers with the tags `box-0`, `box-1` and so on.
    pub(super) async fn empty(setting: &'a PortFixture, count: usize) -> Self {
        let mut containers = Vec::new();
        for number in 0..count {
            let tag = tag(number);
            let id = ContainerId::random();
            let create = async || {
                let now = setting.now();
                let containers = &setting.ctx().containers;
                containers
                    .create_tag(&setting.alpha, &tag, id.clone(), now)
                    .await
            };
            let container = retry_unavailable(create).await.expect("a tag");
            containers.push(container.primary_id().clone());
        }
        Self {
            setting,
            containers,
            indexes: AllIndexes::new(),
        }
    }

    /// Creates `count` containers with documents in every state. Some have equal times.
    pub(super) async fn filled(setting: &'a PortFixture, count: usize) -> Self {
        let listed = Self::empty(setting, count).await;
        for (number, state) in STATES.iter().cycle().take(STATES.len() * 2).enumerate() {
            for container in &listed.containers {
                listed.add(container, *state, number).await;
            }
            if number % 3 != 0 {
                setting.app.environment.clock.advance_seconds(1);
            }
        }
        listed
    }

    /// Adds a document in a state, with metadata, a path and a title that tell its number.
    pub(super) async fn add(
        &self,
        container: &ContainerId,
        state: State,
        number: usize,
    ) -> DocumentId {
        let setting = self.setting;
        let document = setting
            .compose_document(container, &format!("Number {number}."))
            .await;
        let metadata = json!({"even": number.is_multiple_of(2)});
        let metadata = metadata.as_object().expect("an object").clone();
        let document = Document {
            metadata: Metadata::from_stored(metadata),
            filepath: Some(format!("/{}/{number}", number % 3)),
            title: Some(format!("Note {number}")),
            kind: match number % 3 {
                0 => DocumentType::Pdf,
                _ => DocumentType::Text,
            },
            ..document
        };
        setting
            .accept_record(&document, None)
            .await
            .expect("a new record");

        match state {
            State::Queued => {}
            State::Claimed => self.claim(&document).await,
            State::Extracted => {
                self.extract(&document).await;
            }
            State::Done => self.finish(&document).await,
            State::Failed => self.fail(&document).await,
            State::QueuedServed | State::FailedServed => {
                self.finish(&document).await;
                let served = self.read(&document.id).await;
                let second = Document {
                    revision: Revision::random(),
                    status: DocumentStatus::Queued,
                    updated_at: setting.now(),
                    ..served.clone()
                };
                setting
                    .accept_record(&second, Some(&served.revision))
                    .await
                    .expect("a second revision");
                if matches!(state, State::FailedServed) {
                    self.fail(&second).await;
                }
            }
            State::Damaged => {
                self.finish(&document).await;
                self.damage(&self.read(&document.id).await).await;
            }
            State::Deleted => {
                self.finish(&document).await;
                let served = self.read(&document.id).await;
                let change = DocumentChange::Remove(Box::new(served));
                self.commit(container, &[change]).await;
            }
        }
        document.id
    }

    pub(super) async fn read(&self, id: &DocumentId) -> Document {
        self.setting.read_record(id).await.expect("a record")
    }

    async fn claim(&self, document: &Document) {
        let claimed = self.setting.take_lease(document).await;
        assert!(matches!(claimed, ClaimOutcome::Claimed(_)));
    }

    async fn extract(&self, document: &Document) -> Document {
        let setting = self.setting;
        let extracted = setting.extracted_from(document).await;
        let now = setting.now();
        let record = async || {
            let documents = &setting.ctx().documents;
            documents
                .record_extracted(&setting.alpha, &extracted, now)
                .await
        };
        assert!(retry_unavailable(record).await.expect("a record"));
        self.read(&document.id).await
    }

    pub(super) async fn finish(&self, document: &Document) {
        let extracted = self.extract(document).await;
        let change = DocumentChange::Publish(Box::new(extracted));
        self.commit(&document.container, &[change]).await;
    }

    pub(super) async fn commit(&self, container: &ContainerId, changes: &[DocumentChange]) {
        let seq = self.setting.read_head(container).await.seq;
        self.setting.commit(container, seq, changes).await;
    }

    async fn fail(&self, document: &Document) {
        let setting = self.setting;
        let (failure, now) = (failure(), setting.now());
        let fail = async || {
            let documents = &setting.ctx().documents;
            let (id, revision) = (&document.id, &document.revision);
            documents
                .fail_revision(&setting.alpha, id, revision, &failure, None, now)
                .await
        };
        retry_unavailable(fail).await.expect("an answer");
    }

    pub(super) async fn damage(&self, document: &Document) {
        let setting = self.setting;
        let (failure, now) = (failure(), setting.now());
        let fail = async || {
            let documents = &setting.ctx().documents;
            documents
                .fail_damaged(&setting.alpha, document, &failure, now)
                .await
        };
        retry_unavailable(fail).await.expect("an answer");
    }

    /// Returns a query for all documents of all containers.
    pub(super) fn query(&self) -> ListQuery {
        let tags = (0..self.containers.len()).map(tag).collect();
        ListQuery::all_documents(ContainerScope { tags })
    }

    /// Lists without indexes, and by the indexes if they tell what the query asks about.
    pub(super) async fn list(&self, query: &ListQuery) -> DocumentPage {
        let page = self.list_by(query, None).await;
        let by_index = self.list_by(query, Some(&self.indexes)).await;
        assert_eq!(by_index, page, "{query:?}");
        page
    }

    async fn list_by(
        &self,
        query: &ListQuery,
        served: Option<&dyn ServedDocuments>,
    ) -> DocumentPage {
        let setting = self.setting;
        loop {
            match list_documents(setting.ctx(), &setting.alpha, query, served).await {
                Err(domain::Error::Unavailable(_)) => {}
                page => return page.expect("a page"),
            }
        }
    }

    /// Lists as [`list_documents`] should, by reading all documents.
    pub(super) async fn scan(&self, query: &ListQuery) -> DocumentPage {
        let setting = self.setting;
        let mut documents = Vec::new();
        for (number, container) in self.containers.iter().enumerate() {
            if !query.scope.tags.contains(&tag(number)) {
                continue;
            }
            let list = async || {
                let documents = &setting.ctx().documents;
                documents.list(&setting.alpha, container).await
            };
            for mut document in retry_unavailable(list).await.expect("a list") {
                document.set_tags(&[tag(number)]);
                documents.push(document);
            }
        }

        select_page(query, documents)
    }

    /// Compares lists of every kind with full scans.
    pub(super) async fn check_lists(&self, seed: u64, count: usize) {
        let mut random = StdRng::seed_from_u64(seed);
        for _ in 0..count {
            let query = self.random_query(&mut random);
            assert_eq!(
                self.list(&query).await,
                self.scan(&query).await,
                "{query:?}"
            );
        }
    }

    fn random_query(&self, random: &mut StdRng) -> ListQuery {
        let mut query = self.query();
        query.scope.tags.retain(|_| random.random_bool(0.7));
        if query.scope.tags.is_empty() {
            query.scope.tags.push(tag(0));
        }
        if random.random_bool(0.5) {
            query.sort = SortBy::UpdatedAt;
        }
        query.ascending = random.random_bool(0.5);
        query.page = random.random_range(1..6);
        query.limit = *[1, 2, 5, 7, 30, 1_000, usize::MAX]
            .choose(random)
            .expect("a limit");
        if random.random_bool(0.2) {
            let even = json!({"AND": [{"key": "even", "value": "true"}]});
            query.filter = Filter::parse_optional(Some(&even)).expect("a filter");
        }
        if random.random_bool(0.2) {
            query.filepath = Some("/1/".to_owned());
        }
        if random.random_bool(0.5) {
            let mut statuses = UNFINISHED.to_vec();
            statuses.extend([DocumentStatus::Failed, DocumentStatus::Done]);
            statuses.retain(|_| random.random_bool(0.5));
            query.statuses = Some(statuses);
        }
        if random.random_bool(0.2) {
            query.types = Some(vec![DocumentType::Text]);
        }
        if random.random_bool(0.2) {
            query.name = Some(format!("NOTE {}", random.random_range(0..10)));
        }
        if random.random_bool(0.2) {
            let ago = random.random_range(0..20);
            query.changed_since = Some(self.setting.now().plus_seconds(-ago));
        }
        query
    }

    /// Returns the ids of the documents that are listed as unfinished or failed.
    pub(super) async fn pending_ids(&self, container: &ContainerId) -> Vec<DocumentId> {
        let (mut ids, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = async || {
                let documents = &self.setting.ctx().documents;
                documents
                    .list_pending(&self.setting.alpha, container, after.as_deref(), 2)
                    .await
            };
            let (page, next) = retry_unavailable(page).await.expect("a page");
            ids.extend(page);
            match next {
                Some(next) => after = Some(next),
                None => return ids,
            }
        }
    }

    /// Checks that exactly the unfinished and failed documents are listed as such, oldest first.
    pub(super) async fn check_pending(&self) {
        let query = ListQuery {
            ascending: true,
            ..self.query()
        };
        let documents = self.scan(&query).await.documents;
        for container in &self.containers {
            let wanted: Vec<DocumentId> = documents
                .iter()
                .filter(|document| document.container == *container)
                .filter(|document| document.status != DocumentStatus::Done)
                .map(|document| document.id.clone())
                .collect();
            assert_eq!(self.pending_ids(container).await, wanted);
        }
    }

    /// Removes everything that versions before the index `pending` did not write.
    pub(super) async fn make_former(&self) {
        self.setting.app.remove_attributes("gp, pl").await;
    }

    /// Lists the unfinished and failed documents of all containers, as their compaction does.
    pub(super) async fn complete(&self) {
        let (ctx, tenant) = (self.setting.ctx(), &self.setting.alpha);
        for container in &self.containers {
            let add = async || ctx.documents.add_missing_pending(tenant, container).await;
            retry_unavailable(add).await.expect("added documents");
            let record = async || ctx.index.record_pending_listed(tenant, container).await;
            retry_unavailable(record).await.expect("a record");
        }
    }

    pub(super) async fn lists_all_pending(&self) -> Vec<bool> {
        let mut listed = Vec::new();
        for container in &self.containers {
            listed.push(self.setting.read_head(container).await.pending_listed);
        }
        listed
    }
}

fn tag(number: usize) -> ContainerTag {
    ContainerTag::parse(&format!("box-{number}")).expect("a tag")
}

fn failure() -> ProcessingFailure {
    ProcessingFailure {
        code: FailureCode::Corrupt,
        message: "It cannot be read.".to_owned(),
    }
}

/// Returns the page of a query among all documents of its containers.
pub(super) fn select_page(query: &ListQuery, mut documents: Vec<Document>) -> DocumentPage {
    documents.retain(|document| is_admitted(query, document));
    documents.sort_by_key(|document| {
        let time = match query.sort {
            SortBy::CreatedAt => document.created_at,
            SortBy::UpdatedAt => document.updated_at,
        };
        (time, document.id.clone())
    });
    if !query.ascending {
        documents.reverse();
    }

    let total = documents.len();
    let skipped = (query.page - 1).saturating_mul(query.limit);
    let documents = documents.into_iter().skip(skipped).take(query.limit);
    DocumentPage {
        documents: documents.collect(),
        total,
    }
}

fn is_admitted(query: &ListQuery, document: &Document) -> bool {
    let filter = query.filter.as_ref();
    let statuses = query.statuses.as_ref();
    let filepath = query.filepath.as_ref();
    let name = document.name().unwrap_or_default().to_lowercase();
    filter.is_none_or(|filter| filter.matches(&document.metadata))
        && statuses.is_none_or(|statuses| statuses.contains(&document.status))
        && query
            .types
            .as_ref()
            .is_none_or(|types| types.contains(&document.display_type()))
        && query
            .name
            .as_ref()
            .is_none_or(|wanted| name.contains(&wanted.to_lowercase()))
        && filepath.is_none_or(|path| path_matches(path, document.filepath.as_deref()))
        && query
            .changed_since
            .is_none_or(|since| document.updated_at >= since)
}
