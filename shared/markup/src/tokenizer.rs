//! Feeds the tokenizer of the HTML standard with a page, without the excess attributes of tags.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::{LocalName, TokenizerResult};

use crate::tags::{self, Markup};

/// Feeds the tokens of a page to `sink`, and returns the sink. A tag has at most
/// [`MAX_ATTRIBUTES`](crate::MAX_ATTRIBUTES) attributes.
pub fn tokenize<S: TokenSink>(text: &str, sink: S) -> S {
    let watch = RawTextWatch {
        sink,
        raw_element: RefCell::default(),
    };
    let tokenizer = Tokenizer::new(watch, TokenizerOpts::default());
    feed_tokenizer(text, &tokenizer);
    tokenizer.end();
    tokenizer.sink.sink
}

fn feed_tokenizer<S: TokenSink>(text: &str, tokenizer: &Tokenizer<RawTextWatch<S>>) {
    let input = BufferQueue::default();
    let feed = |part: &str| {
        input.push_back(StrTendril::from(part));
        // A script or an encoding declaration only pauses the tokenizer.
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    };

    let watch = &tokenizer.sink;
    let (mut fed_until, mut at) = (0, 0);
    while let Some(start) = watch.next_markup(text, at) {
        at = match tags::read_markup(text, start) {
            Markup::Other(end) => end,
            Markup::CdataSection => {
                feed(&text[fed_until..start]);
                fed_until = start;
                let is_foreign = watch.adjusted_current_node_present_but_not_in_html_namespace();
                tags::find_end_of(text, start, if is_foreign { "]]>" } else { ">" })
            }
            Markup::Tag(tag) => {
                // The sink must see the tag before it is known whether raw text follows.
                if tag.is_cut() || tag.may_hold_raw_text(text) {
                    feed(&text[fed_until..tag.kept_end]);
                    feed(tag.ending);
                    fed_until = tag.end;
                }
                tag.end
            }
        };
    }

    feed(&text[fed_until..]);
}

/// A sink that passes all tokens on, and remembers whether the tokenizer reads text instead of
/// tags.
struct RawTextWatch<S> {
    sink: S,
    /// The element whose raw text the tokenizer is reading, if any.
    raw_element: RefCell<Option<LocalName>>,
}

impl<S> RawTextWatch<S> {
    /// Returns the position at which the next tag or comment may begin.
    fn next_markup(&self, text: &str, at: usize) -> Option<usize> {
        match &*self.raw_element.borrow() {
            Some(name) => tags::find_end_tag(text, at, name),
            None => text[at..].find('<').map(|offset| at + offset),
        }
    }
}

impl<S: TokenSink> TokenSink for RawTextWatch<S> {
    type Handle = S::Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<S::Handle> {
        let Token::TagToken(tag) = &token else {
            return self.sink.process_token(token, line);
        };

        let name = tag.name.clone();
        let result = self.sink.process_token(token, line);
        let is_raw = matches!(
            result,
            TokenSinkResult::RawData(_) | TokenSinkResult::Plaintext
        );
        self.raw_element.replace(is_raw.then_some(name));
        result
    }

    fn end(&self) {
        self.sink.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.sink
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}
