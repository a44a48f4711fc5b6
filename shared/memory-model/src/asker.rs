//! Questions of a person about themselves. "Where do I live?" is not answered by "User's mom lives
//! in Ohio", which has all its words.

use std::sync::LazyLock;

use domain::Trust;
use text::{WordTable, find_words};

use crate::Memory;

/// Words by which an asker means themselves, in the supported languages.
const ASKER_WORDS: &str = "\
    i i'm i've my ich mein meine meinem meinen meiner je mon ma mes yo mi mis vivo soy \
    trabajo nací conduzco io mio mia miei mie abito lavoro eu meu minha moro trabalho nasci я \
    мой моя моё мое мои меня мне 我 私 僕 俺 나는 내가 내 저는 제가 제 मैं मेरा मेरी मेरे";

/// Words of questions that are also about others, ask for advice, or ask what happens on a day.
const WIDER_WORDS: &str = "\
    who who's whom whose anyone anybody someone people everyone we us our he she they his her \
    their can should would could family siblings sibling parents parent kids kid children child \
    relatives friends colleagues coworkers neighbours neighbors pets pet married single \
    relationship dating alone together animal animals today tonight tomorrow week weekend monday \
    tuesday wednesday thursday friday saturday sunday wer wen wem wessen wir kann soll sollte \
    familie geschwister eltern kinder haustiere verheiratet kenne freunde heute morgen qui peux \
    dois famille enfants marié mariée quién quien puedo familia hermanos padres hijos casado \
    casada chi posso famiglia fratelli genitori figli sposato sposata quem família irmãos pais \
    filhos кто кого семья дети родители женат замужем 谁 誰 누구 कौन";

/// Nouns for the people and animals around a person.
const RELATION_NOUNS: &str = "\
    aunt auntie babies baby boss boyfriend brother cat colleague cousin coworker dad daughter dog \
    ex father fiance fiancé fiancee fiancée flatmate friend gf bf girlfriend grandfather grandma \
    grandmother grandpa grandparent grandson granddaughter hubby husband kitten landlord manager \
    mom mother mum neighbor neighbour nephew niece partner puppies puppy roommate sis sister son \
    spouse stepbrother stepdad stepdaughter stepfather stepmom stepmother stepsister stepson \
    supervisor teacher twin uncle wife wives bruder brüder chef chefin frau freund freunde \
    freundin freundinnen hund hunde katze katzen kollege kollegen kollegin mama mann mutter \
    nachbar nachbarin nachbarn oma onkel opa papa schwester schwestern sohn söhne tante tanten \
    tochter töchter vater ami amie copain copine femme fille fils frère mari mère père sœur amiga \
    amigo esposa esposo hermana hermano hija hijo jefa jefe madre marido mujer novia novio padre \
    amica amiche amici amico capo figlia figlie figlio fratello marito moglie sorella sorelle \
    filha filho irmã irmão mulher mãe namorada namorado pai брат брата брату дочери дочь друг \
    друга другу жена жене жену жены мама маме маму мамы мать матери муж мужа мужу отец отца отцу \
    папа папе папу папы подруга подруге подруги сестра сестре сестру сестры сын сына сыну बहन \
    भाई माँ पिता पति पत्नी";

/// The same in scripts without spaces, and with endings in Korean.
const JOINED_RELATION_NOUNS: &str = "\
    妈妈 爸爸 哥哥 弟弟 姐姐 妹妹 妻子 老婆 老公 丈夫 儿子 女儿 朋友 同事 老板 息子 友達 여동생 남동생 동생 언니 누나 오빠 엄마 아빠 \
    어머니 아버지 아내 남편 친구";

/// Single characters for relatives that begin other words as well: `母语` is a language.
const RELATION_CHARS: [char; 7] = ['妹', '姉', '兄', '弟', '母', '父', '妻'];

/// Particles that show that such a character is a word.
const PARTICLES_AFTER_CHAR: [char; 8] = ['的', 'の', 'は', 'が', 'も', 'と', 'に', 'を'];

/// Relatives right after `我`.
const RELATIONS_OF_SPEAKER: [&str; 6] = ["我妈", "我爸", "我哥", "我姐", "我弟", "我妹"];

/// The beginnings of memories about somebody whom a relationship names.
const POSSESSIVES: &str = "\
    user's user’s my mein meine mon ma mes mi mis mia mio mie miei meu meus minha minhas мой моя \
    мои मेरा मेरी मेरे";

/// Words between a possessive and the noun.
const RELATION_ADJECTIVES: &str = "\
    older oldest elder eldest big little younger youngest step half best new old former late";

/// Words before a noun for somebody who no longer is one.
const FORMER_WORDS: &str = "ex former";

/// Words by which a memory about another also tells something about the user.
const USER_AS_OBJECT: &str = "user user's user’s me my us mir mich uns";

/// Attributes that only a person has.
const PERSON_ATTRIBUTES: &str = "age birthplace diet employer job origin residence";

/// The lists above, as sets of words.
static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let set = |list: &'static str| list.split(' ').map(|word| (word, ())).collect();
    Words {
        asker: set(ASKER_WORDS),
        wider: set(WIDER_WORDS),
        relations: set(RELATION_NOUNS),
        possessives: set(POSSESSIVES),
        adjectives: set(RELATION_ADJECTIVES),
        former: set(FORMER_WORDS),
        user_as_object: set(USER_AS_OBJECT),
        person_attributes: set(PERSON_ATTRIBUTES),
    }
});

struct Words {
    asker: WordTable<()>,
    wider: WordTable<()>,
    relations: WordTable<()>,
    possessives: WordTable<()>,
    adjectives: WordTable<()>,
    former: WordTable<()>,
    user_as_object: WordTable<()>,
    person_attributes: WordTable<()>,
}

/// The people that a question is about.
#[derive(Debug, Clone)]
pub struct QuestionPeople {
    words: Vec<String>,
    is_about_asker: bool,
    /// True if the question names somebody by a relationship whom it does not call a former one.
    names_relation: bool,
}

impl QuestionPeople {
    /// Finds the people of a question.
    #[must_use]
    pub fn find(question: &str) -> Self {
        let words = lower_words(question);
        let has = |set: &WordTable<()>| words.iter().any(|word| set.contains_key(word.as_str()));
        let is_elided = |word: &String| word.starts_with("j'") || word.starts_with("j’");
        let is_asker_named = has(&WORDS.asker) || words.iter().any(is_elided);
        let names_relation = words.iter().any(|word| is_relation(word));
        let names_others =
            has(&WORDS.wider) || names_relation || contains_joined_relation(question);
        Self {
            is_about_asker: is_asker_named && !names_others,
            names_relation: names_relation && !has(&WORDS.former),
            words,
        }
    }

    /// Checks whether the question may differ from any memory in its people.
    #[must_use]
    pub fn may_differ(&self) -> bool {
        self.is_about_asker || self.names_relation
    }

    /// Checks whether a memory is about somebody else: about a relative if the asker asks about
    /// themselves, or about an ex-wife if the question is about a wife.
    #[must_use]
    pub fn differ_from(&self, memory: &Memory) -> bool {
        if !self.may_differ() {
            return false;
        }

        let words = lower_words(&memory.text);
        self.names_relation && self.differ_in_time(&words)
            || self.is_about_asker && self.is_about_other(memory, &words)
    }

    /// Checks whether a memory is about a former wife, and the question is about a wife.
    fn differ_in_time(&self, words: &[String]) -> bool {
        let is_asked = |word: &String| is_relation(word) && self.words.contains(word);
        words
            .windows(2)
            .any(|pair| WORDS.former.contains_key(pair[0].as_str()) && is_asked(&pair[1]))
    }

    fn is_about_other(&self, memory: &Memory, words: &[String]) -> bool {
        let subject = memory
            .topic_answer
            .as_ref()
            .map(|topic| topic.subject.as_str());
        let is_speaker = |name: &str| {
            memory
                .speaker
                .as_ref()
                .is_some_and(|speaker| speaker.to_lowercase() == name)
        };
        let is_own = |subject: &str| {
            subject == "user"
                || is_speaker(subject)
                || self.words.iter().any(|word| word == subject)
        };
        let tells_of_user = || {
            let mut after_first = words.iter().skip(1);
            after_first.any(|word| WORDS.user_as_object.contains_key(word.as_str()))
        };
        if subject.is_some_and(is_own) || tells_of_user() || self.share_name_with(&memory.text) {
            return false;
        }

        begins_with_relation(&memory.text, words)
            || subject.is_some_and(|subject| is_joined_relation(subject) || is_relation(subject))
            || is_about_named_person(memory, words)
    }

    /// Checks whether a memory has a name that the question has: `a gift for Anna`. `ADHD` is none.
    fn share_name_with(&self, text: &str) -> bool {
        let is_name = |word: &str| {
            let mut chars = word.chars();
            chars.next().is_some_and(char::is_uppercase)
                && chars.next().is_some_and(char::is_lowercase)
        };
        let mut names = find_words(text).skip(1).filter(|word| is_name(word.text));
        names.any(|name| self.words.contains(&name.text.to_lowercase()))
    }
}

/// Checks whether the memory is the user's word about a person with a name. The text of a client may
/// call the user by name.
fn is_about_named_person(memory: &Memory, words: &[String]) -> bool {
    let Some(topic) = &memory.topic_answer else {
        return false;
    };
    memory.trust == Trust::User
        && memory.speaker.is_none()
        && WORDS
            .person_attributes
            .contains_key(topic.attribute.as_str())
        && words.first() == Some(&topic.subject)
}

/// Checks whether a text begins with somebody whom a relationship names: `User's older sister`.
fn begins_with_relation(text: &str, words: &[String]) -> bool {
    if begins_with_joined_relation(text) {
        return true;
    }

    let Some((first, rest)) = words.split_first() else {
        return false;
    };
    let is_adjective = |word: &&String| WORDS.adjectives.contains_key(word.as_str());
    let noun = rest.iter().find(|word| !is_adjective(word));
    WORDS.possessives.contains_key(first.as_str()) && noun.is_some_and(|noun| is_relation(noun))
}

/// The same in scripts without spaces: `我姐姐`, `妹は`, `내 여동생`.
fn begins_with_joined_relation(text: &str) -> bool {
    let joined = text
        .trim_start_matches(['我', '私', '내', '제'])
        .trim_start_matches(['的', 'の', ' ']);
    let mut chars = joined.chars();
    let is_char = chars
        .next()
        .is_some_and(|first| RELATION_CHARS.contains(&first))
        && chars
            .next()
            .is_none_or(|next| PARTICLES_AFTER_CHAR.contains(&next));
    let begins_with = |noun: &&str| joined.starts_with(*noun);
    is_char
        || JOINED_RELATION_NOUNS
            .split(' ')
            .any(|noun| begins_with(&noun))
        || RELATIONS_OF_SPEAKER
            .iter()
            .any(|noun| text.starts_with(noun))
}

/// Checks whether a text is such a noun.
fn is_joined_relation(text: &str) -> bool {
    let mut chars = text.chars();
    let is_char = chars.next().is_some_and(|c| RELATION_CHARS.contains(&c));
    is_char && chars.next().is_none() || JOINED_RELATION_NOUNS.split(' ').any(|noun| noun == text)
}

/// Checks whether a text has such a noun anywhere.
fn contains_joined_relation(text: &str) -> bool {
    text.contains(RELATION_CHARS)
        || JOINED_RELATION_NOUNS
            .split(' ')
            .chain(RELATIONS_OF_SPEAKER)
            .any(|noun| text.contains(noun))
}

/// Checks whether a word names somebody by a relationship, also in the plural or with a possessive ending.
fn is_relation(word: &str) -> bool {
    let word = word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word);
    let is_noun = |word: &str| WORDS.relations.contains_key(word);
    is_noun(word) || word.strip_suffix('s').is_some_and(is_noun)
}

fn lower_words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    find_words(&lower)
        .map(|word| word.text.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a memory from the user, with the subject and attribute of its topic.
    fn memory(text: &str, topic: Option<(&str, &str)>) -> Memory {
        let time = "2026-03-01T09:30:00.000Z";
        let topic = topic.map(|(subject, attribute)| {
            json!({"subject": subject, "attribute": attribute, "value": "x", "negated": false})
        });
        let memory = json!({
            "id": "memory", "topic": "topic", "topic_answer": topic, "text": text, "kind": "fact",
            "confidence": 0.8, "trust": "user", "version": 1, "first_version": "memory",
            "said_at": time, "created_at": time, "updated_at": time,
        });
        serde_json::from_value(memory).unwrap()
    }

    fn differs(question: &str, text: &str, topic: Option<(&str, &str)>) -> bool {
        QuestionPeople::find(question).differ_from(&memory(text, topic))
    }

    #[test]
    fn a_question_about_the_asker_is_not_about_others() {
        let mom = Some(("user's mom", "residence"));
        for (question, text, topic) in [
            ("Where do I live?", "User's mom lives in Ohio.", mom),
            (
                "what am I allergic to?",
                "User's older sister is allergic to nuts.",
                None,
            ),
            ("what car do i drive?", "User's wife drives a golf.", None),
            ("do I have ADHD?", "User's coworker has ADHD.", None),
            ("what's my job?", "Jess is a nurse.", Some(("jess", "job"))),
            (
                "Where do I live?",
                "User's ex wife Karen lives in Denver.",
                Some(("karen", "residence")),
            ),
            (
                "Wo wohne ich?",
                "Meine Schwester wohnt in Bonn",
                Some(("schwester", "residence")),
            ),
            ("Où est-ce que j'habite ?", "Ma sœur habite à Lyon", None),
            (
                "¿Dónde vivo?",
                "Mi hermana vive en Sevilla",
                Some(("hermana", "residence")),
            ),
            ("Где я живу?", "Моя сестра живёт в Казани", None),
            ("我住在哪里？", "我姐姐住在北京", None),
            ("我住在哪里？", "我妈住在北京", None),
            ("내가 어디에 살아?", "내 여동생은 부산에 살아", None),
            ("Where do I live?", "User's ex lives in Denver.", None),
            ("¿Dónde vivo?", "Mis hermanas viven en Sevilla", None),
            (
                "私はどこに住んでいますか？",
                "妹は大阪に住んでいます",
                Some(("妹", "residence")),
            ),
        ] {
            assert!(differs(question, text, topic), "{question} {text}");
        }
    }

    #[test]
    fn own_facts_and_questions_about_others_lose_nothing() {
        let mom = "User's mom lives in Ohio.";
        for (question, text, topic) in [
            (
                "Where do I live?",
                "User moved to Lisbon.",
                Some(("user", "residence")),
            ),
            ("where does my mom live?", mom, None),
            ("where do I visit my mom?", mom, None),
            ("who lives in Ohio?", mom, None),
            ("do I have any family?", mom, None),
            ("where does mom live?", mom, None),
            (
                "where do I live?",
                "User's mom lives with User in Ohio.",
                None,
            ),
            ("Do I have pets?", "User's dog barks.", None),
            (
                "when did I meet Jess?",
                "Jess is a nurse.",
                Some(("jess", "job")),
            ),
            (
                "what's my deadline?",
                "Falcon is due in May.",
                Some(("falcon", "deadline")),
            ),
            ("where do I work?", "User's home is at the lake.", None),
            (
                "How many sisters do I have?",
                "User's sisters live in Ohio.",
                None,
            ),
            (
                "What are my dogs called?",
                "User's dog is called Rex.",
                None,
            ),
            ("Where does my ex live?", "User's ex lives in Denver.", None),
            (
                "What do I have on Friday?",
                "User's son has a gala on Friday.",
                None,
            ),
            ("What can I cook tonight?", "User's wife is vegan.", None),
            (
                "what gift do I get for Anna?",
                "User's sister Anna likes tea.",
                None,
            ),
            (
                "Wie heißen meine Hunde?",
                "Meine Hunde heißen Max und Ida",
                None,
            ),
            (
                "¿Dónde viven mis hermanas?",
                "Mis hermanas viven en Sevilla",
                None,
            ),
            (
                "Где живёт моя мама, скажи мне",
                "Моя мама живёт в Казани",
                None,
            ),
            ("我说什么语言？", "母语是法语", None),
            ("我妈住在哪里？", "我妈住在北京", None),
            ("내 여동생은 어디에 살아?", "내 여동생은 부산에 살아", None),
        ] {
            assert!(!differs(question, text, topic), "{question} {text}");
        }
    }

    #[test]
    fn a_wife_is_not_an_ex_wife() {
        let ex = "User's ex-wife Karen lives in Denver.";
        assert!(differs("who is my wife?", ex, None));
        assert!(!differs("who is my ex wife?", ex, None));
        assert!(!differs("who is Karen?", ex, None));
        assert!(!differs(
            "who is my wife?",
            "User's wife drives a golf.",
            None
        ));
    }
}
