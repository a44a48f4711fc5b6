//! Conformance tests of [`domain::ports::Tasks`].

use domain::ports::OverdueWork;
use domain::task::{ContainerMerge, MergePhase};
use domain::{ContainerId, ContainerTag, Task, TaskId, TaskState, TaskWork, Tenant, Timestamp};
use futures::future::join_all;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_step_holds_only_over_the_one_before,
    of_many_steps_at_the_same_time_one_holds,
    a_running_task_is_overdue_from_its_time_on,
);

fn fresh(setting: &PortFixture) -> Task {
    let tag = |text: &str| ContainerTag::parse(text).expect("a tag");
    let work = ContainerMerge {
        sources: vec![(tag("a"), vec![ContainerId::random()])],
        target: tag("b"),
        target_ids: vec![ContainerId::random()],
        phase: MergePhase::Queued,
        source: 0,
        container: 0,
        cursor: Some("somewhere # in between".into()),
        looked_at: 3,
        in_flight: 0,
        superseded: u64::MAX,
    };

    Task::new(TaskWork::Merge(work), setting.now())
}

fn next(task: &Task, attempts: u32) -> Task {
    Task {
        step: task.step + 1,
        attempts,
        error: Some(format!("Örter {attempts}")),
        ..task.clone()
    }
}

async fn save(setting: &PortFixture, tenant: &Tenant, task: &Task) -> bool {
    retry_unavailable(async || setting.ctx().tasks.save(tenant, task).await)
        .await
        .expect("an answer")
}

async fn get(setting: &PortFixture, tenant: &Tenant, id: &TaskId) -> Option<Task> {
    retry_unavailable(async || setting.ctx().tasks.get(tenant, id).await)
        .await
        .expect("an answer")
}

async fn a_step_holds_only_over_the_one_before(setting: &PortFixture) {
    let first = fresh(setting);
    assert_eq!(get(setting, &setting.alpha, &first.id).await, None);
    assert!(
        !save(setting, &setting.alpha, &next(&first, 1)).await,
        "there is nothing before it"
    );
    assert!(save(setting, &setting.alpha, &first).await);
    assert!(
        save(setting, &setting.alpha, &first).await,
        "our own write again"
    );
    assert!(
        !save(
            setting,
            &setting.alpha,
            &Task {
                attempts: 9,
                ..first.clone()
            }
        )
        .await,
        "it has begun"
    );
    assert!(
        !save(setting, &setting.alpha, &next(&next(&first, 1), 2)).await,
        "one is left out"
    );
    let second = next(&first, 1);
    assert!(save(setting, &setting.alpha, &second).await);
    assert!(
        save(setting, &setting.alpha, &second).await,
        "our own write again"
    );
    for late in [&first, &next(&first, 2)] {
        assert!(!save(setting, &setting.alpha, late).await);
    }

    assert_eq!(
        get(setting, &setting.alpha, &first.id).await.as_ref(),
        Some(&second)
    );
    assert_eq!(get(setting, &setting.beta, &first.id).await, None);
    assert!(
        !save(setting, &setting.beta, &next(&second, 3)).await,
        "of another organization"
    );
    assert_eq!(get(setting, &setting.alpha, &first.id).await, Some(second));
}

async fn of_many_steps_at_the_same_time_one_holds(setting: &PortFixture) {
    let first = fresh(setting);
    assert!(save(setting, &setting.alpha, &first).await);
    let all: Vec<Task> = (0..12).map(|attempts| next(&first, attempts)).collect();
    let held = join_all(all.iter().map(|task| save(setting, &setting.alpha, task))).await;
    let stored = get(setting, &setting.alpha, &first.id)
        .await
        .expect("a task");
    for (task, held) in all.iter().zip(held) {
        assert_eq!(held, *task == stored);
    }
}

async fn a_running_task_is_overdue_from_its_time_on(setting: &PortFixture) {
    let overdue = async |before: Timestamp| {
        retry_unavailable(async || setting.ctx().documents.list_overdue(before, 10).await)
            .await
            .expect("what is overdue")
    };

    let first = fresh(setting);
    assert!(save(setting, &setting.alpha, &first).await);
    assert!(overdue(first.due_at).await.is_empty());
    let named = OverdueWork::Task(setting.alpha.org().clone(), first.id.clone());
    assert_eq!(overdue(first.due_at.plus_seconds(1)).await, [named]);
    let second = Task {
        due_at: first.due_at.plus_seconds(500),
        ..next(&first, 0)
    };

    assert!(save(setting, &setting.alpha, &second).await);
    assert!(
        overdue(first.due_at.plus_seconds(1)).await.is_empty(),
        "it was moved on"
    );
    assert_eq!(overdue(second.due_at.plus_seconds(1)).await.len(), 1);

    for state in [TaskState::Completed, TaskState::Failed] {
        let before = get(setting, &setting.alpha, &first.id)
            .await
            .expect("a task");
        assert!(
            save(
                setting,
                &setting.alpha,
                &Task {
                    state,
                    ..next(&before, 0)
                }
            )
            .await
        );
        assert!(
            overdue(Timestamp::from_millis(i64::MAX)).await.is_empty(),
            "{state:?}"
        );
    }
}
