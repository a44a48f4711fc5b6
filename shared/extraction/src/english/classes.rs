//! Classes of small words.

use std::sync::LazyLock;

use super::hash::WordTable;

/// Forms of be, have and do.
pub(super) const AUXILIARY: u16 = 1 << 0;
/// Modal verbs.
pub(super) const MODAL: u16 = 1 << 1;
/// Adverbs that may stand between a subject and its verb.
pub(super) const ADVERB: u16 = 1 << 2;
/// Words that open a noun phrase.
pub(super) const DETERMINER: u16 = 1 << 3;
/// Prepositions.
pub(super) const PREPOSITION: u16 = 1 << 4;
/// Pronouns that need another sentence to be understood.
pub(super) const PRONOUN: u16 = 1 << 5;
/// Other words without a meaning of their own.
const OTHER: u16 = 1 << 6;
/// All words without a meaning of their own.
pub(super) const SMALL: u16 = (1 << 7) - 1;
/// Words that judge rather than inform.
pub(super) const JUDGING: u16 = 1 << 7;
/// Nouns for occasions that take place at a time.
pub(super) const EVENT: u16 = 1 << 8;
/// Words that end an object before them.
pub(super) const OBJECT_END: u16 = 1 << 9;
/// Words that may begin a date, besides digits.
pub(crate) const DATE: u16 = 1 << 10;

/// The classes with their words.
const CLASSES: [(u16, &str); 11] = [
    (
        AUXILIARY,
        "is are am was were 's 're 'm has have had 've 'd 'll do does did",
    ),
    (
        MODAL,
        "will would can could may might must shall should cannot 'll",
    ),
    (
        ADVERB,
        "really always also still usually never just often sometimes actually absolutely totally generally \
         mostly mainly currently now recently already finally strongly definitely probably even only once \
         ever rarely normally typically personally truly honestly kinda officially originally formally \
         quite very so all both simply certainly basically hardly particularly especially greatly deeply \
         firmly clearly initially soon fully then first naturally seriously successfully eventually \
         tentatively today yesterday",
    ),
    (
        DETERMINER,
        "the a an my our your his her their its this that these those all every each both some any no \
         another",
    ),
    (
        PREPOSITION,
        "of in on at for with from to by about over under after before between during through into near \
         since until without via within as than around across against toward towards per onto off",
    ),
    (
        PRONOUN,
        "he she it they this that these those him them here there one",
    ),
    (
        OTHER,
        "i me we us you myself and or but if because n't not be been being 's who which what when where how \
         why too well up out down yes oh wow hey thing things lot much more most many such own going gonna \
         let than while though like it her mine yours theirs others themselves user author",
    ),
    (
        JUDGING,
        "better worse best worst great good bad nice awesome amazing easier harder clearer tighter faster \
         slower cleaner simpler safer stronger weaker justify justifies solid useful pleasant wonderful \
         beautiful fine ok okay important key tough hard cool incredible fun helpful worth",
    ),
    (
        EVENT,
        "appointment meeting interview exam call party wedding flight concert defense defence conference review \
         presentation demo launch release trip surgery workshop class lesson dinner lunch game match race \
         performance show competition tournament deadline visit session ceremony festival event standup stand-up \
         test evening checkup check-up reservation booking viewing delivery hearing training rehearsal practice \
         sync kickoff kick-off retro retrospective webinar lecture seminar celebration reunion graduation funeral \
         christening holiday vacation departure arrival breakfast brunch picnic barbecue recital premiere \
         inspection audit marathon club choir operation train bus ferry course handover gig hike tour camp \
         gathering fair move housewarming",
    ),
    (
        OBJECT_END,
        "and but because since so which who when while where although though as if that until now anymore \
         today tomorrow yesterday tonight last next this after before every instead rather not n't again \
         too right lately recently currently by these ago i we he she they it is are was were has have \
         had did 'm 've 're also any during",
    ),
    (
        DATE,
        "january february march april may june july august september october november december jan feb \
         mar apr jun jul aug sep sept oct nov dec monday mondays tuesday tuesdays wednesday wednesdays \
         thursday thursdays friday fridays saturday saturdays sunday sundays mon tue tues wed thu thurs \
         fri a an couple one two three four five six seven eight nine ten eleven twelve today tonight \
         yesterday tomorrow the day last next this coming past end month-end year-end eod eow in mid \
         early late spring summer fall autumn winter q1 q2 q3 q4",
    ),
];

static WORDS: LazyLock<WordTable<u16>> = LazyLock::new(|| {
    let mut words = WordTable::default();
    for (class, list) in CLASSES {
        for word in list.split(' ') {
            *words.entry(word).or_default() |= class;
        }
    }
    words
});

/// Checks whether a word belongs to one of `classes`.
pub(crate) fn is_in_class(lower: &str, classes: u16) -> bool {
    WORDS.get(lower).is_some_and(|class| class & classes != 0)
}
