//! The setting of a conformance test: the ports of a new world, and records to test them with.

use std::collections::BTreeMap;

use bytes::Bytes;
use domain::document::{BodyForm, ProcessingResult};
use domain::ports::{ClaimOutcome, CommitOutcome, PortResult};
use domain::{
    ContainerId, ContainerTag, Document, DocumentBody, DocumentChange, DocumentId, DocumentStatus,
    DocumentType, Dreaming, IndexHead, Metadata, OrgId, PortError, Revision, TaskType, Tenant,
    Timestamp,
};
use service::Ctx;
use testkit::{FaultRates, TestApp};

/// The number of fault histories under which each guarantee is tested.
pub(crate) const SEEDS: u64 = 3;

/// A world with two organizations.
pub(crate) struct PortFixture {
    pub(crate) app: TestApp,
    pub(crate) alpha: Tenant,
    pub(crate) beta: Tenant,
    calm: bool,
}

impl PortFixture {
    /// Creates a setting without faults.
    pub(crate) async fn without_faults() -> Self {
        let tenant = |org| Tenant::for_operator(OrgId::parse(org).expect("an organization"));
        Self {
            app: TestApp::new().await,
            alpha: tenant("alpha"),
            beta: tenant("beta"),
            calm: true,
        }
    }

    /// Creates a setting in which every kind of fault happens occasionally.
    pub(crate) async fn with_faults(seed: u64) -> Self {
        let world = testkit::TestEnvironment::new().expect("a folder");
        let app = TestApp::start(&world, seed).await.expect("an app");
        app.faults.set_rates(FaultRates::OCCASIONAL);
        Self {
            app,
            calm: false,
            ..Self::without_faults().await
        }
    }

    /// Returns a setting over the same services, with the two organizations swapped and without
    /// faults.
    pub(crate) async fn with_organizations_swapped(&self) -> Self {
        let app = TestApp::start(&self.app.environment, 0)
            .await
            .expect("an app");
        Self {
            app,
            alpha: self.beta.clone(),
            beta: self.alpha.clone(),
            calm: true,
        }
    }

    /// Stops all faults from now on.
    pub(crate) fn stop_faults(&self) {
        self.app.faults.set_rates(FaultRates::default());
    }

    /// Checks whether this setting was created without faults.
    pub(crate) fn is_calm(&self) -> bool {
        self.calm
    }

    pub(crate) fn ctx(&self) -> &Ctx {
        &self.app.system.ctx
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.ctx().clock.now()
    }

    /// Stores a queued document of a container with this text.
    pub(crate) async fn accept_document(&self, container: &ContainerId, text: &str) -> Document {
        let document = self.compose_document(container, text).await;
        self.accept_record(&document, None)
            .await
            .expect("a new record");
        document
    }

    /// Stores the bytes of a queued document of a container, but not its record.
    pub(crate) async fn compose_document(&self, container: &ContainerId, text: &str) -> Document {
        let (id, revision, now) = (DocumentId::random(), Revision::random(), self.now());
        let path = format!("{container}/{id}/{revision}/body");
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        let blob = retry_unavailable(async || {
            self.ctx()
                .blobs
                .put(&self.alpha, &path, bytes.clone())
                .await
        })
        .await
        .expect("a blob");

        Document {
            id,
            container: container.clone(),
            tag: ContainerTag::default_tag(),
            further_tags: Vec::new(),
            custom_id: None,
            revision,
            revision_number: 1,
            status: DocumentStatus::Queued,
            failure: None,
            attempts: 0,
            lease_until: Timestamp::from_millis(0),
            body: DocumentBody {
                blob,
                form: BodyForm::Text,
                hash: "00".into(),
                size: text.len() as u64,
                awaited_until: None,
                sent_at: None,
            },
            extracted: None,
            indexed: None,
            kind: DocumentType::Text,
            title: None,
            properties: BTreeMap::new(),
            url: None,
            metadata: Metadata::default(),
            filepath: None,
            description_changes: 0,
            filter_by_metadata: None,
            task_type: TaskType::Memory,
            dreaming: Dreaming::Dynamic,
            document_date: None,
            provenance: None,
            origin: None,
            superseded_by: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Stores a record.
    pub(crate) async fn accept_record(
        &self,
        document: &Document,
        expected: Option<&Revision>,
    ) -> PortResult<()> {
        retry_unavailable(async || {
            self.ctx()
                .documents
                .accept_revision(&self.alpha, document, expected, &[])
                .await
        })
        .await
    }

    /// Returns the stored record.
    pub(crate) async fn read_record(&self, id: &DocumentId) -> Option<Document> {
        let found = retry_unavailable(async || {
            self.ctx()
                .documents
                .get(&self.alpha, std::slice::from_ref(id))
                .await
        })
        .await;
        found.expect("records").pop().flatten()
    }

    /// Takes a lease of 90 seconds.
    pub(crate) async fn take_lease(&self, document: &Document) -> ClaimOutcome {
        let now = self.now();
        let (id, revision) = (&document.id, &document.revision);
        let claim = async || {
            self.ctx()
                .documents
                .claim_revision(&self.alpha, id, revision, now, now.plus_seconds(90))
                .await
        };
        retry_unavailable(claim).await.expect("a claim")
    }

    /// Stores a document that waits for its commit.
    pub(crate) async fn extracted_document(&self, container: &ContainerId, text: &str) -> Document {
        let document = self
            .extracted_from(&self.accept_document(container, text).await)
            .await;
        let now = self.now();
        let recorded = retry_unavailable(async || {
            self.ctx()
                .documents
                .record_extracted(&self.alpha, &document, now)
                .await
        })
        .await;
        assert!(recorded.expect("a record"), "nobody else changes it");

        self.read_record(&document.id).await.expect("the record")
    }

    /// Returns the document with a stored pack, as a worker has it before it records the pack.
    pub(crate) async fn extracted_from(&self, document: &Document) -> Document {
        let (path, bytes) = (document.pack_path(), Bytes::from_static(b"a pack"));
        let pack = retry_unavailable(async || {
            self.ctx()
                .blobs
                .put(&self.alpha, &path, bytes.clone())
                .await
        })
        .await
        .expect("a blob");
        let extracted = ProcessingResult {
            revision: document.revision.clone(),
            pack,
            chunks: 1,
            statements_ref: None,
            authorship: None,
            summary: None,
        };

        Document {
            extracted: Some(extracted),
            ..document.clone()
        }
    }

    /// Commits despite faults. A commit without an answer either happened or did not.
    pub(crate) async fn commit(
        &self,
        container: &ContainerId,
        expected: u64,
        changes: &[DocumentChange],
    ) -> CommitOutcome {
        loop {
            let head = IndexHead {
                seq: expected,
                ..self.read_head(container).await
            };
            match self
                .ctx()
                .index
                .commit(&self.alpha, container, &head, changes, self.now())
                .await
            {
                Ok(committed) => return committed,
                Err(PortError::Unavailable(_))
                    if self.read_head(container).await.seq > expected =>
                {
                    // No other commits happen in these tests, so this one did.
                    return CommitOutcome::Done(Vec::new());
                }
                Err(PortError::Unavailable(_)) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// Returns the index's head.
    pub(crate) async fn read_head(&self, container: &ContainerId) -> IndexHead {
        retry_unavailable(async || self.ctx().index.get_head(&self.alpha, container).await)
            .await
            .expect("a head")
    }

    /// Creates a document that search serves.
    pub(crate) async fn served_document(&self, container: &ContainerId, text: &str) -> Document {
        let document = self.extracted_document(container, text).await;
        let seq = self.read_head(container).await.seq;
        self.commit(
            container,
            seq,
            &[DocumentChange::Publish(Box::new(document.clone()))],
        )
        .await;
        self.read_record(&document.id).await.expect("the record")
    }
}

/// Repeats a call until it is answered. Callers of a port may do so when it is unavailable.
pub(crate) async fn retry_unavailable<T>(
    mut call: impl AsyncFnMut() -> PortResult<T>,
) -> PortResult<T> {
    /// More calls than any seed here fails in a row.
    const CALLS: usize = 50;
    for _ in 1..CALLS {
        match call().await {
            Err(PortError::Unavailable(_)) => {}
            answer => return answer,
        }
    }
    call().await
}
