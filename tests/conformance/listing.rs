//! Conformance tests of lists of documents: [`service::list_documents`] over the ports.

use std::collections::{BTreeSet, VecDeque};

use domain::ports::{ClaimOutcome, PortResult};
use domain::{
    ContainerId, ContainerTag, Document, DocumentChange, DocumentId, DocumentStatus, DocumentType,
    FailureCode, Filter, Metadata, ProcessingFailure, Revision, Timestamp,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use service::{ContainerScope, DocumentPage, ListQuery, SortBy, list_documents, path_matches};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    pages_are_complete_and_disjoint_in_both_orders,
    totals_are_exact_for_documents_in_every_state,
    any_list_equals_a_full_scan,
    documents_that_are_finished_between_pages_are_never_missed,
    former_containers_are_listed_exactly_before_and_after_they_are_completed,
    a_commit_of_an_earlier_program_is_noticed,
    a_first_commit_beside_former_documents_does_not_claim_that_all_are_listed,
    damaged_documents_are_pending_and_superseded_ones_never,
);

const UNFINISHED: [DocumentStatus; 5] = [
    DocumentStatus::Queued,
    DocumentStatus::Extracting,
    DocumentStatus::Chunking,
    DocumentStatus::Embedding,
    DocumentStatus::Indexing,
];

/// The states in which the documents of a test are.
#[derive(Clone, Copy, Debug)]
enum State {
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

const STATES: [State; 9] = [
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

/// A world with documents in all states in several containers.
struct Listed<'a> {
    setting: &'a PortFixture,
    containers: Vec<ContainerId>,
}

impl<'a> Listed<'a> {
    /// Creates empty containers with the tags `box-0`, `box-1` and so on.
    async fn empty(setting: &'a PortFixture, count: usize) -> Self {
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
        }
    }

    /// Creates `count` containers with documents in every state. Some have equal times.
    async fn filled(setting: &'a PortFixture, count: usize) -> Self {
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
    async fn add(&self, container: &ContainerId, state: State, number: usize) -> DocumentId {
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

    async fn read(&self, id: &DocumentId) -> Document {
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

    async fn finish(&self, document: &Document) {
        let extracted = self.extract(document).await;
        let change = DocumentChange::Publish(Box::new(extracted));
        self.commit(&document.container, &[change]).await;
    }

    async fn commit(&self, container: &ContainerId, changes: &[DocumentChange]) {
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

    async fn damage(&self, document: &Document) {
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
    fn query(&self) -> ListQuery {
        let tags = (0..self.containers.len()).map(tag).collect();
        ListQuery::all_documents(ContainerScope { tags })
    }

    async fn list(&self, query: &ListQuery) -> DocumentPage {
        let setting = self.setting;
        loop {
            match list_documents(setting.ctx(), &setting.alpha, query).await {
                Err(domain::Error::Unavailable(_)) => {}
                page => return page.expect("a page"),
            }
        }
    }

    /// Lists as [`list_documents`] should, by reading all documents.
    async fn scan(&self, query: &ListQuery) -> DocumentPage {
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
    async fn check_lists(&self, seed: u64, count: usize) {
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
    async fn pending_ids(&self, container: &ContainerId) -> Vec<DocumentId> {
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
    async fn check_pending(&self) {
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
    async fn make_former(&self) {
        self.setting.app.remove_attributes("gp, pl").await;
    }

    /// Lists the unfinished and failed documents of all containers, as their compaction does.
    async fn complete(&self) {
        let (ctx, tenant) = (self.setting.ctx(), &self.setting.alpha);
        for container in &self.containers {
            let add = async || ctx.documents.add_missing_pending(tenant, container).await;
            retry_unavailable(add).await.expect("added documents");
            let record = async || ctx.index.record_pending_listed(tenant, container).await;
            retry_unavailable(record).await.expect("a record");
        }
    }

    async fn lists_all_pending(&self) -> Vec<bool> {
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
fn select_page(query: &ListQuery, mut documents: Vec<Document>) -> DocumentPage {
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

async fn pages_are_complete_and_disjoint_in_both_orders(setting: &PortFixture) {
    let listed = Listed::filled(setting, 3).await;
    for ascending in [true, false] {
        let whole = ListQuery {
            ascending,
            ..listed.query()
        };
        let wanted = listed.scan(&whole).await.documents;
        assert_eq!(wanted.len(), (STATES.len() - 1) * 2 * 3);

        for limit in [1, 7, 16, 48, 100] {
            let mut all = Vec::new();
            for page in 1..=wanted.len().div_ceil(limit) + 1 {
                let query = ListQuery {
                    page,
                    limit,
                    ..whole.clone()
                };
                let found = listed.list(&query).await;
                assert_eq!(found.total, wanted.len());
                assert!(found.documents.len() <= limit);
                all.extend(found.documents);
            }
            assert_eq!(all, wanted, "{limit} on a page");
        }
    }
}

async fn totals_are_exact_for_documents_in_every_state(setting: &PortFixture) {
    let listed = Listed::empty(setting, 1).await;
    let [container] = listed.containers.as_slice() else {
        panic!("one container");
    };
    let one = ListQuery {
        limit: 1,
        ..listed.query()
    };
    assert_eq!(listed.list(&one).await.total, 0);

    let mut wanted = 0;
    for (number, state) in STATES.iter().chain(&STATES).enumerate() {
        listed.add(container, *state, number).await;
        wanted += usize::from(!matches!(state, State::Deleted));
        assert_eq!(listed.list(&one).await.total, wanted, "{state:?}");
    }
    assert_eq!(listed.lists_all_pending().await, [true]);
    listed.check_pending().await;
}

async fn any_list_equals_a_full_scan(setting: &PortFixture) {
    let listed = Listed::filled(setting, 3).await;
    listed.check_lists(1, 150).await;
    // Of more containers, those that are read to their end are not counted.
    let listed = Listed::filled(setting, 6).await;
    listed.check_lists(2, 50).await;
}

async fn documents_that_are_finished_between_pages_are_never_missed(setting: &PortFixture) {
    for ascending in [true, false] {
        let listed = Listed::empty(setting, 2).await;
        let mut waiting = VecDeque::new();
        for number in 0..12 {
            let container = &listed.containers[number % 2];
            waiting.push_back(listed.add(container, State::Queued, number).await);
            setting.app.environment.clock.advance_seconds(1);
        }
        let query = ListQuery {
            ascending,
            ..listed.query()
        };
        let wanted = listed.scan(&query).await.documents;
        let wanted: Vec<DocumentId> = wanted.into_iter().map(|document| document.id).collect();

        // They are finished from both ends of the list.
        let mut seen = Vec::new();
        for page in 1..=wanted.len().div_ceil(2) {
            let query = ListQuery {
                page,
                limit: 2,
                ..query.clone()
            };
            let found = listed.list(&query).await;
            assert_eq!(found.total, wanted.len());
            seen.extend(found.documents.into_iter().map(|document| document.id));
            let ends = [waiting.pop_back(), waiting.pop_front()];
            for id in ends.into_iter().flatten() {
                listed.finish(&listed.read(&id).await).await;
            }
        }
        assert_eq!(seen, wanted);
    }
}

async fn former_containers_are_listed_exactly_before_and_after_they_are_completed(
    setting: &PortFixture,
) {
    let listed = Listed::filled(setting, 2).await;
    setting.stop_faults();
    listed.make_former().await;
    assert_eq!(listed.lists_all_pending().await, [false, false]);
    listed.check_lists(3, 60).await;

    // Some documents are changed by the present version before the container is completed.
    for (number, state) in STATES.iter().enumerate() {
        listed.add(&listed.containers[0], *state, number).await;
    }
    assert_eq!(listed.lists_all_pending().await, [false, false]);
    listed.check_lists(4, 60).await;

    for _ in 0..2 {
        listed.complete().await;
        assert_eq!(listed.lists_all_pending().await, [true, true]);
        listed.check_pending().await;
        listed.check_lists(5, 60).await;
    }
}

async fn a_commit_of_an_earlier_program_is_noticed(setting: &PortFixture) {
    let listed = Listed::filled(setting, 1).await;
    let container = &listed.containers[0];
    assert_eq!(listed.lists_all_pending().await, [true]);

    // An earlier program stores a document and commits, without the attributes that are new.
    listed.add(container, State::Queued, 0).await;
    setting.stop_faults();
    listed.setting.app.remove_attributes("gp").await;
    let head = domain::IndexHead {
        pending_listed: false,
        ..setting.read_head(container).await
    };
    let committed =
        setting
            .ctx()
            .index
            .commit(&setting.alpha, container, &head, &[], setting.now());
    committed.await.expect("a commit");
    listed.add(container, State::Done, 1).await;
    assert_eq!(listed.lists_all_pending().await, [false]);
    listed.check_lists(8, 40).await;
}

async fn a_first_commit_beside_former_documents_does_not_claim_that_all_are_listed(
    setting: &PortFixture,
) {
    let listed = Listed::empty(setting, 2).await;
    let [mixed, fresh] = listed.containers.as_slice() else {
        panic!("two containers");
    };
    let former = listed.add(mixed, State::Queued, 0).await;
    setting.stop_faults();
    listed.make_former().await;
    for container in [mixed, fresh] {
        listed.add(container, State::Queued, 1).await;
        listed.add(container, State::Done, 2).await;
    }

    assert_eq!(listed.lists_all_pending().await, [false, true]);
    listed.check_lists(6, 40).await;
    listed.finish(&listed.read(&former).await).await;
    listed.complete().await;
    listed.check_pending().await;
    listed.check_lists(7, 40).await;
}

async fn damaged_documents_are_pending_and_superseded_ones_never(setting: &PortFixture) {
    let listed = Listed::empty(setting, 1).await;
    let container = &listed.containers[0];
    let winner = listed.add(container, State::Done, 0).await;
    let damaged = listed.add(container, State::Damaged, 1).await;
    let failed = listed.add(container, State::Failed, 2).await;
    let done = listed.add(container, State::Done, 3).await;
    assert_eq!(
        BTreeSet::from_iter(listed.pending_ids(container).await),
        BTreeSet::from([damaged.clone(), failed.clone()])
    );

    for id in [&damaged, &failed, &done] {
        let superseded = Document {
            superseded_by: Some(winner.clone()),
            ..listed.read(id).await
        };
        let change = DocumentChange::Supersede(Box::new(superseded));
        listed.commit(container, &[change]).await;
    }
    listed.damage(&listed.read(&done).await).await;
    assert_eq!(listed.pending_ids(container).await, []);
    assert_eq!(listed.list(&listed.query()).await.total, 1);
    listed.complete().await;
    assert_eq!(listed.pending_ids(container).await, []);
}

/// Returns a record like `document` with another id and time.
fn copy_of(document: &Document, number: i64) -> Document {
    let created_at = Timestamp::from_millis(document.created_at.as_millis() + number % 700);
    Document {
        id: DocumentId::random(),
        created_at,
        updated_at: Timestamp::from_millis(created_at.as_millis() + number % 900),
        ..document.clone()
    }
}

#[tokio::test]
async fn lists_of_thousands_are_read_in_parts() -> PortResult<()> {
    let setting = PortFixture::without_faults().await;
    let listed = Listed::empty(&setting, 2).await;
    for (index, container) in listed.containers.iter().enumerate() {
        listed.add(container, State::Done, 0).await;
        let waiting = setting.compose_document(container, "Many.").await;
        for number in 0..1_100 {
            let status = if number % 3 == 0 && index == 0 {
                DocumentStatus::Queued
            } else {
                DocumentStatus::Failed
            };
            let document = Document {
                status,
                ..copy_of(&waiting, number)
            };
            setting.accept_record(&document, None).await?;
        }
    }

    let pending = [DocumentStatus::Queued, DocumentStatus::Failed].to_vec();
    let all = ListQuery {
        ascending: true,
        ..listed.query()
    };
    let everything = listed.scan(&all).await.documents;
    for (statuses, sort) in [
        (None, SortBy::CreatedAt),
        (None, SortBy::UpdatedAt),
        (Some(pending), SortBy::CreatedAt),
    ] {
        // The pages 42 and 43 of 50 end after the documents that are kept at a time.
        for (page, limit) in [(1, 20), (42, 50), (43, 50), (46, 50)] {
            let query = ListQuery {
                statuses: statuses.clone(),
                sort,
                ascending: page % 2 == 0,
                page,
                limit,
                ..listed.query()
            };
            let found = listed.list(&query).await;
            let wanted = select_page(&query, everything.clone());
            assert_eq!(found.total, wanted.total, "{query:?}");
            assert!(found.documents == wanted.documents, "{query:?}");
        }
    }
    Ok(())
}
