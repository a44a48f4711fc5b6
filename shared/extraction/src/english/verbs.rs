//! English verbs with their irregular forms.

use std::sync::LazyLock;

use super::hash::WordTable;
use super::lexicon::VerbForm;

/// Common verbs in their base form.
const VERBS: &str = "accept achieve act adapt add adjust admire adopt adore agree aim allow announce answer apply appoint \
     appreciate approve argue arrange arrive ask assign assume attend audition avoid babysit back bake ban be \
     beat become begin believe belong bet bike bind bite blame bleed block blog bloom blow boil book boost \
     borrow bother bounce bowl break bring build burn buy call calm camp cancel care carry catch cater cause \
     celebrate challenge change charge chat check cheer choose clarify clean climb close coach collaborate \
     collect combine come comfort commit communicate commute compare compete complain complete compose \
     concentrate concern conduct confirm confuse congratulate connect consider contact contain continue \
     contribute convert cook coordinate cost count cover craft crash create crochet cross cry cultivate \
     customize cut cycle dance date deal decide dedicate define delay delegate delete deliver demand \
     demonstrate deny depart depend depict deploy describe design destroy develop devote diagnose die dig \
     digest direct disagree discontinue discover discuss dislike distribute divorce do document dominate \
     donate doubt download draft draw dream drift drink drive drop earn eat edit educate elect elevate email \
     emerge emphasize employ empower enable encourage end endure enforce engage enhance enjoy enroll ensure \
     enter establish evaluate evolve examine exceed excel exchange execute exercise exist expand expect expire \
     experience explain explore expose express extend face facilitate fail fall familiarize favor favour fear \
     feed feel fetch fight file fill filter finalise finalize find finish fire fish fit fix flatten fly focus \
     fold follow force forget form foster found freelance freeze fund gain garden gather generate get give \
     glance go golf govern grab graduate grant grill grow guarantee guess guide hand handle hang happen \
     harvest hate have head heal hear help hesitate highlight hike hire hit hold honor honour hope host hunt \
     hurt identify illustrate imagine impact implement import impress improve include increase indicate \
     influence inform inherit injure inspect inspire install integrate intend interact interview introduce \
     invade invent invest invite involve isolate jog join justify keep kick knit know label lack land last \
     laugh launch lead leap learn leave lend let lie lift like limit link list listen litigate live load \
     locate look lose love lower maintain major make manage map mark marry master matter mature mean measure \
     meet memorize mention mentor merge migrate mind mirror miss mix monitor motivate mourn move name \
     navigate need negotiate nominate note notice nurture object obtain occur offer open operate opt order \
     organise organize outgrow outline outperform overcome overrate oversee oversell oversleep overwinter own \
     pack paint park participate pass pay perform persuade photograph pick pitch plan plant play pledge \
     podcast point polish position post postpone pour practice praise pray predict prefer prepare present \
     prevent print proceed process produce progress promise promote propel propose protect prove provide \
     provoke publish pull purchase pursue push put qualify question quit quote race rain raise reach react \
     read realise realize rearrange reassure rebuild recall receive recharge recognize recommend reconnect \
     record recover recruit redesign reduce refactor refer refine reflect refresh refuse register regret \
     rehearse reject relax release relocate rely remain remember remind remove rename rent repair repeat \
     replace replicate reply report represent request require reschedule rescue research reserve resign \
     resolve resonate respect respond rest restart restore restructure result retain rethink retire retry \
     return reunite reuse revamp reveal revert review revise reward rewrite ride rise risk roll route run \
     sail save say scan schedule score scrap search secure see seek seem select sell send sense separate \
     serve set settle sew shape share shift ship shoot shop show shut sign simplify sing sit skate sketch ski \
     sleep slip smoke sneak soar solve sound spark speak specialise specialize specify spend split sponsor \
     spot spread squeeze stack stand start stay steal stick stop store stream strengthen stretch strive \
     structure struggle study style submit subscribe succeed suffer suggest summarize supply support surf \
     surprise surround survive suspect suspend sustain swap sweep swim switch tackle tag take talk tap target \
     taste teach tell tempt tend test thank think thrive throw tidy tie tighten tolerate topple touch tour \
     trace track trade train transfer transform translate travel treat trigger trim trip trust try turn tutor \
     type undergo understand unite unlock unwind update upgrade upload urge use validate value vary ventilate \
     venture verify view violate visit vlog volunteer vote vow wait wake walk want warm warn wash waste watch \
     wave wear weigh welcome widen win wipe wish withdraw witness wonder work worry wrap write yell abandon brew downgrade enrol gamble lease meditate pause practise \
     renovate reside resume snore unsubscribe vape";

/// Irregular past forms and participles, each with its base.
const PAST: &str = "ate/eat beaten/beat became/become been/be began/begin begun/begin born/bear bought/buy broke/break \
     broken/break brought/bring built/build came/come caught/catch chose/choose chosen/choose dealt/deal \
     did/do done/do drank/drink drawn/draw dreamt/dream drew/draw driven/drive drove/drive eaten/eat \
     fallen/fall fed/feed fell/fall felt/feel flew/fly flown/fly forgot/forget forgotten/forget fought/fight \
     found/find froze/freeze frozen/freeze gave/give given/give gone/go got/get gotten/get grew/grow \
     grown/grow had/have heard/hear held/hold hid/hide hung/hang kept/keep knew/know known/know laid/lay \
     leapt/leap learnt/learn led/lead left/leave lent/lend lit/light lost/lose made/make meant/mean met/meet \
     oversold/oversell overwintered/overwinter paid/pay quit/quit ran/run rebuilt/rebuild rewritten/rewrite \
     rewrote/rewrite ridden/ride risen/rise rode/ride rose/rise said/say sang/sing sat/sit saw/see seen/see \
     sent/send shot/shoot shown/show slept/sleep slipped/slip sold/sell spent/spend spoke/speak spoken/speak \
     stole/steal stolen/steal stood/stand stuck/stick sung/sing swam/swim swore/swear swum/swim taken/take \
     taught/teach thought/think threw/throw thrown/throw told/tell took/take tore/tear understood/understand \
     underwent/undergo was/be went/go were/be woke/wake woken/wake won/win wore/wear worn/wear written/write \
     wrote/write";

/// Other irregular forms.
const PRESENT: &str = "am/be are/be does/do goes/go has/have is/be overwinters/overwinter";
const ING: &str = "being/be dying/die lying/lie";

/// Base forms and irregular forms, each with its base and form.
static FORMS: LazyLock<WordTable<(&str, VerbForm)>> = LazyLock::new(|| {
    let mut forms: WordTable<_> = VERBS
        .split(' ')
        .map(|base| (base, (base, VerbForm::Base)))
        .collect();
    for (list, form) in [
        (PAST, VerbForm::Past),
        (PRESENT, VerbForm::Present),
        (ING, VerbForm::Ing),
    ] {
        let pairs = list.split(' ').filter_map(|pair| pair.split_once('/'));
        forms.extend(pairs.map(|(low, base)| (low, (base, form))));
    }
    forms
});

/// Returns the base and the form of a word in the tables.
pub(super) fn find_verb(lower: &str) -> Option<(&'static str, VerbForm)> {
    FORMS.get(lower).copied()
}
