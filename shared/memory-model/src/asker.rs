//! Questions of a person about themselves. "Where do I live?" is not answered by "User's mom lives
//! in Ohio", which has all its words.

use domain::Trust;
use text::find_words;

use crate::Memory;

/// Words by which an asker means themselves, in the supported languages.
const OWN_WORDS: &str = "\
    i i'm i've my ich mein meine meinem meinen meiner je mon ma mes yo mi mis vivo soy \
    trabajo nací conduzco io mio mia miei mie abito lavoro eu meu minha moro trabalho nasci я \
    мой моя моё мое мои меня мне 我 私 僕 俺 나는 내가 내 저는 제가 제 मैं मेरा मेरी मेरे";

/// Words of questions that also ask about others, or for advice.
const OPEN_WORDS: &str = "\
    who who's whom whose anyone anybody someone people everyone we us our he she they his her \
    their should would could family siblings sibling parents parent kids kid children child \
    relatives friends colleagues coworkers neighbours neighbors pets pet married single \
    relationship dating alone together animal animals wer wen wem wessen wir familie \
    geschwister eltern kinder haustiere verheiratet kenne freunde qui famille enfants marié \
    mariée quién quien familia hermanos padres hijos casado casada chi famiglia fratelli \
    genitori figli sposato sposata quem família irmãos pais filhos кто кого семья дети \
    родители женат замужем 谁 誰 누구 कौन";

/// Nouns for the people and animals around a person.
const RELATION_NOUNS: &str = "\
    aunt auntie boss boyfriend brother cat colleague cousin coworker dad daughter dog father \
    fiance fiancé fiancée flatmate friend gf bf girlfriend grandfather grandma grandmother \
    grandpa grandson granddaughter husband landlord manager mom mother mum neighbor neighbour \
    nephew niece partner roommate sis sister son stepfather stepmother supervisor teacher \
    uncle wife bruder chef chefin frau freund freundin hund kollege kollegin mama mann mutter \
    nachbar nachbarin oma onkel opa papa schwester sohn tante tochter vater ami amie copain \
    copine femme fille fils frère mari mère père sœur amiga amigo esposa esposo hermana \
    hermano hija hijo jefa jefe madre marido mujer novia novio padre amica amico capo figlia \
    figlio fratello marito moglie sorella filha filho irmã irmão mulher mãe namorada namorado \
    pai брат дочь друг жена мама мать муж отец папа подруга сестра сын बहन भाई माँ पिता पति \
    पत्नी";

/// The same in scripts without spaces, and with endings in Korean.
const JOINED_RELATION_NOUNS: &str = "\
    妈妈 爸爸 哥哥 弟弟 姐姐 妹妹 妻子 老婆 老公 丈夫 儿子 女儿 朋友 同事 老板 妹 姉 兄 弟 母 父 妻 夫 息子 娘 友達 여동생 남동생 언니 누나 오빠 엄마 \
    아빠 어머니 아버지 아내 남편 친구";

/// The beginnings of memories about somebody whom a relationship names.
const POSSESSIVES: &str = "\
    user's user’s my mein meine mon ma mi mia mio meu minha мой моя मेरा मेरी";

/// Words between a possessive and the noun.
const RELATION_ADJECTIVES: &str = "\
    older oldest elder eldest big little younger youngest twin step half best new old ex \
    former late";

/// Words before a noun for somebody who no longer is one.
const FORMER_WORDS: &str = "ex former";

/// Words by which a memory about another also tells something about the user.
const OBJECT_WORDS: &str = "user user's user’s me my us mir mich uns";

/// Attributes that only a person has.
const PERSON_ATTRIBUTES: &str = "age birthplace diet employer job origin residence";

/// The people that a question is about.
#[derive(Debug, Clone)]
pub struct QuestionPeople {
    words: Vec<String>,
    is_about_asker: bool,
}

impl QuestionPeople {
    /// Finds the people of a question.
    #[must_use]
    pub fn find(question: &str) -> Self {
        let words = lower_words(question);
        let is_own = |word: &String| {
            lists(OWN_WORDS, word.as_str()) || word.starts_with("j'") || word.starts_with("j’")
        };
        let is_open = |word: &String| lists(OPEN_WORDS, word.as_str()) || is_relation(word);
        let joined = question.to_lowercase();
        let names_relation = JOINED_RELATION_NOUNS
            .split(' ')
            .any(|noun| joined.contains(noun));
        Self {
            is_about_asker: words.iter().any(is_own)
                && !words.iter().any(is_open)
                && !names_relation,
            words,
        }
    }

    /// Checks whether a memory is about somebody else: about a relative if the asker asks about
    /// themselves, or about an ex-wife if the question is about a wife.
    #[must_use]
    pub fn exclude(&self, memory: &Memory) -> bool {
        let words = lower_words(&memory.text);
        self.exclude_former(&words) || self.is_about_asker && self.is_about_other(memory, &words)
    }

    /// Checks whether a memory is about a former wife, and the question is about a wife.
    fn exclude_former(&self, words: &[String]) -> bool {
        if self
            .words
            .iter()
            .any(|word| lists(FORMER_WORDS, word.as_str()))
        {
            return false;
        }
        let is_asked = |word: &String| is_relation(word) && self.words.contains(word);
        words
            .windows(2)
            .any(|pair| lists(FORMER_WORDS, pair[0].as_str()) && is_asked(&pair[1]))
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
        if subject.is_some_and(|subject| {
            subject == "user"
                || is_speaker(subject)
                || self.words.iter().any(|word| word == subject)
        }) {
            return false;
        }
        if words
            .iter()
            .skip(1)
            .any(|word| lists(OBJECT_WORDS, word.as_str()))
        {
            return false;
        }

        begins_with_relation(&memory.text, words)
            || subject.is_some_and(|subject| lists(JOINED_RELATION_NOUNS, subject))
            || subject.is_some_and(is_relation)
            || is_about_named_person(memory, words)
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
        && lists(PERSON_ATTRIBUTES, &topic.attribute)
        && words.first() == Some(&topic.subject)
}

/// Checks whether a text begins with somebody whom a relationship names: `User's older sister`.
fn begins_with_relation(text: &str, words: &[String]) -> bool {
    let joined = text
        .trim_start_matches(['我', '私'])
        .trim_start_matches(['的', 'の']);
    if JOINED_RELATION_NOUNS
        .split(' ')
        .any(|noun| joined.starts_with(noun))
    {
        return true;
    }

    let Some((first, rest)) = words.split_first() else {
        return false;
    };
    let is_adjective = |word: &&String| lists(RELATION_ADJECTIVES, word.as_str());
    let noun = rest.iter().find(|word| !is_adjective(word));
    lists(POSSESSIVES, first.as_str()) && noun.is_some_and(|noun| is_relation(noun))
}

/// Checks whether a word names somebody by a relationship, also with a possessive ending.
fn is_relation(word: &str) -> bool {
    let word = word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word);
    lists(RELATION_NOUNS, word)
}

/// Checks whether a word is one of `list`.
fn lists(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
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

    fn excludes(question: &str, text: &str, topic: Option<(&str, &str)>) -> bool {
        QuestionPeople::find(question).exclude(&memory(text, topic))
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
            (
                "私はどこに住んでいますか？",
                "妹は大阪に住んでいます",
                Some(("妹", "residence")),
            ),
        ] {
            assert!(excludes(question, text, topic), "{question} {text}");
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
        ] {
            assert!(!excludes(question, text, topic), "{question} {text}");
        }
    }

    #[test]
    fn a_wife_is_not_an_ex_wife() {
        let ex = "User's ex-wife Karen lives in Denver.";
        assert!(excludes("who is my wife?", ex, None));
        assert!(!excludes("who is my ex wife?", ex, None));
        assert!(!excludes("who is Karen?", ex, None));
        assert!(!excludes(
            "who is my wife?",
            "User's wife drives a golf.",
            None
        ));
    }
}
