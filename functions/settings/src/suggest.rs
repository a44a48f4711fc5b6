//! `POST /v3/settings/suggest-buckets`: suggests buckets that fit an organization's description of
//! itself. No model is involved: a catalogue of common topics is ranked by the stems that it shares
//! with the prompts.

use std::collections::HashSet;
use std::sync::LazyLock;

use axum::extract::State;
use domain::{Error, ProfileBucket, Settings};
use edge::{ApiResult, App, Auth, Json, ReadOrganization};
use openapi::{ErrorAnswer, Operation};
use rust_stemmers::{Algorithm, Stemmer};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use text::find_words;

/// The fewest suggestions, as long as the catalogue has enough, and the most.
const MIN_SUGGESTIONS: usize = 3;
const MAX_SUGGESTIONS: usize = 6;
/// The words after which a sentence names unwanted topics.
const NEGATING_WORDS: [&str; 14] = [
    "avoid",
    "except",
    "exclude",
    "excluding",
    "forget",
    "ignore",
    "ignoring",
    "never",
    "no",
    "not",
    "omit",
    "reject",
    "skip",
    "without",
];

/// A line of the catalogue: `key | description | words`.
struct CatalogueTopic {
    bucket: ProfileBucket,
    stems: HashSet<String>,
}

static CATALOGUE: LazyLock<Vec<CatalogueTopic>> = LazyLock::new(|| {
    let lines = include_str!("topics.txt").lines();
    let topics = lines.filter_map(|line| {
        let [key, description, words] = line.splitn(3, '|').collect::<Vec<_>>().try_into().ok()?;
        let bucket = ProfileBucket {
            key: key.trim().into(),
            description: description.trim().into(),
        };
        Some(CatalogueTopic {
            stems: stems_of(words).chain(stems_of(key)).collect(),
            bucket,
        })
    });
    topics.collect()
});

/// Buckets that are not set yet, the best match first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SuggestedBucketsResponse")]
pub(crate) struct Suggestions {
    /// At least three, unless almost all are set.
    #[schemars(length(max = 6))]
    suggestions: Vec<ProfileBucket>,
}

pub(crate) async fn suggest_buckets(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadOrganization>,
) -> ApiResult<Json<Suggestions>> {
    let settings = app.ctx.settings.get(&tenant).await?;
    let Some(filter) = &settings.filter_prompt else {
        let rule = "not set; suggestions follow from it: set it with PATCH /v3/settings";
        return Err(Error::invalid_field("filterPrompt", rule).into());
    };
    Ok(Json(Suggestions {
        suggestions: rank_suggestions(filter, &settings),
    }))
}

/// Returns suggestions, the best first. If few topics fit, the first topics of the catalogue
/// follow, which suit nearly everybody.
fn rank_suggestions(filter: &str, settings: &Settings) -> Vec<ProfileBucket> {
    let used_buckets = settings.merge_buckets(&[]);
    let used_keys: HashSet<&str> = used_buckets
        .iter()
        .map(|bucket| bucket.key.as_str())
        .collect();
    let (filter, workspace) = (
        wanted_stems(filter),
        wanted_stems(settings.workspace_prompt.as_deref().unwrap_or_default()),
    );
    let unused_topics = CATALOGUE
        .iter()
        .filter(|topic| !used_keys.contains(topic.bucket.key.as_str()));
    let mut ranked: Vec<(usize, &CatalogueTopic)> = unused_topics
        .map(|topic| {
            let count_shared = |words: &HashSet<String>| topic.stems.intersection(words).count();
            // The filter prompt says what to keep, and counts more than the description of the
            // work.
            (2 * count_shared(&filter) + count_shared(&workspace), topic)
        })
        .collect();
    ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let matching = ranked.iter().filter(|(score, _)| *score > 0).count();
    ranked.truncate(matching.clamp(MIN_SUGGESTIONS, MAX_SUGGESTIONS));

    ranked
        .into_iter()
        .map(|(_, topic)| topic.bucket.clone())
        .collect()
}

/// Returns the stems of the wanted topics in a prompt: each sentence counts up to the word after
/// which it names unwanted topics.
fn wanted_stems(prompt: &str) -> HashSet<String> {
    let is_negation = |word: &&str| {
        let word = word.to_lowercase().replace('’', "'");
        NEGATING_WORDS.contains(&word.as_str()) || word.ends_with("n't")
    };

    let sentences = prompt.split(['.', '!', '?', ';', '\n']);
    sentences
        .flat_map(|sentence| {
            find_words(sentence)
                .map(|word| word.text)
                .take_while(|word| !is_negation(word))
                .map(stem_word)
        })
        .collect()
}

fn stems_of(text: &str) -> impl Iterator<Item = String> {
    find_words(text).map(|word| stem_word(word.text))
}

fn stem_word(word: &str) -> String {
    let lowercase = word.to_lowercase();
    Stemmer::create(Algorithm::English)
        .stem(&lowercase)
        .into_owned()
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v3/settings/suggest-buckets", "suggest_buckets")
            .group("Settings")
            .summary("Suggest buckets that fit the prompts.")
            .description(
                "They follow from `filterPrompt`, which has to be set, and from \
                 `workspacePrompt`. No model is involved.",
            )
            .answer::<Suggestions>(
                "The suggestions.",
                json!({
                    "suggestions": [{"key": "food", "description": "Meals, diets and drinks."}],
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(filter: &str, settings: &Settings) -> Vec<String> {
        rank_suggestions(filter, settings)
            .into_iter()
            .map(|bucket| bucket.key)
            .collect()
    }

    #[test]
    fn the_catalogue_has_good_buckets() {
        assert_eq!(CATALOGUE.len(), include_str!("topics.txt").lines().count());
        let buckets: Vec<ProfileBucket> =
            CATALOGUE.iter().map(|topic| topic.bucket.clone()).collect();
        ProfileBucket::check_buckets("topics", &buckets).unwrap();
        assert!(buckets.len() >= 25);
        assert!(NEGATING_WORDS.is_sorted());
    }

    #[test]
    fn what_fits_comes_first() {
        let none = Settings::default();
        let cases = [
            (
                "Keep recipes, diets and the restaurants that guests liked.",
                "food",
            ),
            (
                "We track medications, symptoms and allergies of patients.",
                "health",
            ),
            (
                "Save trips, flights and hotel bookings. Ignore invoices and medicine.",
                "travel",
            ),
            ("Remember dogs, cats and their breeds", "pets"),
            (
                "Everything about deployments, APIs and databases of our software",
                "engineering",
            ),
        ];
        for (filter, first) in cases {
            assert_eq!(keys(filter, &none)[0], first, "{filter}");
        }

        let kept = keys(
            "Save trips. Ignore invoices, taxes, money and medicine.",
            &none,
        );
        assert!(
            !kept.contains(&"finance".to_owned()) && !kept.contains(&"health".to_owned()),
            "{kept:?}"
        );
        let workspace = Settings {
            workspace_prompt: Some("A law firm.".into()),
            ..Settings::default()
        };

        assert!(keys("Keep what matters.", &workspace).contains(&"legal".to_owned()));
    }

    #[test]
    fn there_are_three_to_six_and_none_that_is_set() {
        let all: Vec<ProfileBucket> = CATALOGUE.iter().map(|topic| topic.bucket.clone()).collect();
        let broad: String = all
            .iter()
            .map(|bucket| format!("{} ", bucket.key))
            .collect();
        let set = |count: usize| Settings {
            profile_buckets: Some(all[..count].to_vec()),
            ..Settings::default()
        };

        for filter in ["", "日本語だけ", "zzz", "Keep food.", &broad] {
            for settings in [Settings::default(), set(0), set(5), set(20)] {
                let found = keys(filter, &settings);
                assert!((3..=6).contains(&found.len()), "{filter}: {found:?}");
                let taken = settings.merge_buckets(&[]);
                assert!(
                    taken.iter().all(|bucket| !found.contains(&bucket.key)),
                    "{filter}: {found:?}"
                );
            }
        }

        assert_eq!(keys("Keep food.", &set(all.len() - 1)).len(), 1);
    }
}
