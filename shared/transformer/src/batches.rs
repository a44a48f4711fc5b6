//! Division of texts into batches that fit into memory.

/// The most texts of a batch.
const BATCH_TEXTS: usize = 32;
/// The most tokens of a batch with its padding, unless a single text is longer. Larger batches are
/// not faster on a CPU, and whoever gives up waits for the end of one: half a second for a small
/// model.
const BATCH_TOKENS: usize = 1_024;
/// The most attention scores of a batch, unless a single text has more: 64 MB of them.
const BATCH_SCORES: usize = 16 * 1024 * 1024;

/// Divides texts with these numbers of tokens into batches of their indices. Texts of similar
/// length are together, so that few tokens are padding.
pub(crate) fn plan_batches(lengths: &[usize], heads: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|index| lengths[*index]);

    let mut batches: Vec<Vec<usize>> = Vec::new();
    for index in order {
        // The texts are ordered, so this one is the longest of its batch.
        let width = lengths[index];
        let last = batches.last_mut().filter(|batch| {
            let texts = batch.len() + 1;
            texts <= BATCH_TEXTS
                && texts * width <= BATCH_TOKENS
                && texts * heads * width * width <= BATCH_SCORES
        });
        match last {
            Some(batch) => batch.push(index),
            None => batches.push(vec![index]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::plan_batches;

    #[test]
    fn texts_of_similar_length_are_in_one_batch() {
        let batches = plan_batches(&[100, 5, 100, 7], 12);
        assert_eq!(batches, [vec![1, 3, 0, 2]]);
        let batches = plan_batches(&[2_000, 5, 2_000, 7], 12);
        assert_eq!(batches, [vec![1, 3], vec![0], vec![2]]);
    }

    #[test]
    fn batches_are_limited() {
        assert!(plan_batches(&[], 12).is_empty());
        let sizes = |length, heads| -> Vec<usize> {
            let batches = plan_batches(&[length; 70], heads);
            batches.iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(1, 12), [32, 32, 6], "by texts");
        assert_eq!(sizes(100, 12)[0], 10, "by tokens");
        assert_eq!(sizes(512, 64)[0], 1, "by attention scores");
        assert_eq!(sizes(100_000, 16).len(), 70, "one text in each");
    }
}
