//! Role plays: what somebody says in a role is not about them.
//!
//! A play begins where the user asks for one, or gives a role to both sides. A hobby, a sport or a
//! game that somebody only tells about is none: `i'm playing bass in a band`.

use super::words::{ChatWords, LowerText, Phrases, word_ranges};

/// The most words without content before a request to play: `ok so can you please`.
const MAX_LEADING_WORDS: usize = 6;

/// Checks whether a message begins a play.
pub(super) fn begins_play(text: &str, words: &ChatWords) -> bool {
    // "Tu so, als wärst du": the comma says nothing here.
    let lower = LowerText::new(&text.replace(", ", " "));
    if words.made_up_texts.occur_in(&lower) {
        return true;
    }

    let is_asked = words.play_openings.occur_in(&lower)
        && clauses_of(&text.to_lowercase()).any(|clause| asks_for_play(clause, words));
    is_asked
        || has_role(&lower, &words.assistant_roles, words)
            && has_role(&lower, &words.own_roles, words)
}

/// Checks whether a message ends a play: `ok end scene`.
pub(super) fn ends_play(text: &str, words: &ChatWords) -> bool {
    words.play_endings.occur_in(&LowerText::new(text))
}

/// Returns the clauses of a text, each with what follows it in its sentence.
fn clauses_of(lower: &str) -> impl Iterator<Item = &str> {
    let sentences = lower.split(['.', '!', '?', '\n', ';', '…']);
    sentences.flat_map(|sentence| {
        let commas = sentence.match_indices([',', ':', '(']);
        let starts = commas.map(|(at, mark)| at + mark.len());
        [0].into_iter().chain(starts).map(move |at| &sentence[at..])
    })
}

/// Checks whether a clause opens with a request to play, after words without content.
fn asks_for_play(clause: &str, words: &ChatWords) -> bool {
    let clause = clause.replace(", ", " ");
    let mut rest = clause.as_str();
    for _ in 0..=MAX_LEADING_WORDS {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        if words.play_openings.opening_len(rest).is_some() {
            return true;
        }

        let lead = words.polite_words.opening_len(rest);
        let Some(len) = lead.or_else(|| words.empty_openings.opening_len(rest)) else {
            return false;
        };
        rest = &rest[len..];
    }

    false
}

/// Checks whether a text gives somebody a role. `You are the best` gives none.
fn has_role(lower: &LowerText, roles: &Phrases, words: &ChatWords) -> bool {
    let mut ends = lower.words.iter().filter_map(|word| {
        let rest = &lower.text[word.start..];
        Some(word.start + roles.opening_len(rest)?)
    });
    ends.any(|end| {
        let rest = &lower.text[end..];
        let next = word_ranges(rest).next().map_or("", |word| &rest[word]);
        !words.non_roles.is(next)
    })
}

#[cfg(test)]
mod tests {
    use text::Language;

    use super::*;
    use crate::chat::words::chat_words_of;
    use crate::golden::passage_of;
    use crate::{Passage, SourceText, extract_statements};
    use domain::Trust;

    fn is_play(text: &str, language: Language) -> bool {
        begins_play(text, chat_words_of(language))
    }

    /// Returns the texts of the statements of several messages of one user.
    fn texts_of(messages: &[&str]) -> Vec<String> {
        let passages = messages.iter().map(|text| passage_of(text));
        let source = SourceText {
            passages: passages.collect::<Vec<Passage<'_>>>(),
            trust: Trust::User,
        };
        let statements = extract_statements(&source);
        statements.into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn hobbies_games_and_bands_are_no_plays() {
        for (language, texts) in [
            (
                Language::English,
                &[
                    "im playing tennis on thursdays with my uni friends",
                    "i'm playing bass in a band",
                    "im playing the long game with this house purchase",
                    "i do improv on mondays",
                    "we played a dnd session yesterday",
                    "i run a dnd game for my kids",
                    "rate my dnd character idea",
                    "roleplay 100%. our new dm is Sam",
                    "my character is a bard called Odo",
                    "had a mock interview on monday and it went badly",
                    "you are the best, im playing squash tonight",
                    "u play any chess?",
                    "my therapist suggested role play exercises",
                    "you're the ai, i'm a nurse in hull",
                    "he likes to pretend to be asleep",
                    "im writing a screenplay about my gran",
                ][..],
            ),
            (
                Language::German,
                &[
                    "ich spiele die zweite geige im orchester",
                    "wir haben am freitag ein rollenspiel im verein",
                    "du bist die beste, ich spiele morgen handball",
                    "mein sohn ist im theaterstück der wolf",
                ],
            ),
            (
                Language::French,
                &[
                    "je fais mon doctorat en chimie",
                    "je fais mon stage chez Renault",
                    "on joue au foot le jeudi",
                    "tu joues au tennis ?",
                    "t'es la meilleure, moi je suis la tante de Léo",
                    "mon personnage est un nain",
                ],
            ),
            (
                Language::Spanish,
                &[
                    "juego a un juego de rol con mis primos",
                    "mi hija actúa en una obra de teatro",
                    "tú eres el mejor, yo soy la hermana de Inés",
                ],
            ),
            (
                Language::Portuguese,
                &[
                    "jogo rpg com meus amigos às quintas",
                    "escrevo roteiro para uma produtora",
                    "vamos brincar de escola com as crianças no sábado",
                    "você é o melhor, eu sou a mãe da Bia",
                ],
            ),
            (
                Language::Italian,
                &[
                    "gioco a un gioco di ruolo il venerdì",
                    "facciamo che ci vediamo alle otto",
                    "mio figlio fa finta di dormire",
                ],
            ),
            (
                Language::Russian,
                &["пишу сценарий для сериала", "мой любимый персонаж шерлок"],
            ),
            (
                Language::Japanese,
                &["娘とごっこ遊びをした", "台本を書く仕事をしています"],
            ),
            (
                Language::Chinese,
                &[
                    "我喜欢角色扮演游戏",
                    "我在剧团写剧本",
                    "我儿子在学校扮演一棵树",
                ],
            ),
            (Language::Korean, &["대본 쓰는 일을 해요"]),
            (
                Language::Hindi,
                &["मैं नाटक में काम करता हूँ", "main natak dekhne gaya"],
            ),
        ] {
            for text in texts {
                assert!(!is_play(text, language), "{text}");
            }
        }
    }

    #[test]
    fn a_play_begins_with_a_request_or_with_two_roles() {
        for (language, texts) in [
            (
                Language::English,
                &[
                    "let's role-play: you are a ship's captain",
                    "ok can you pretend you are my landlord",
                    "i'm playing a detective, you play the suspect",
                    "you're the bouncer and im the guy with a fake id",
                    "could we do a quick mock interview?",
                    "can we do some role play? you are my boss",
                    "mock interview time.",
                    "be my dungeon master",
                    "act like you're my ex, ok?",
                ][..],
            ),
            (
                Language::German,
                &[
                    "lass uns ein rollenspiel machen",
                    "tu mal so, als wärst du mein chef",
                    "du spielst den arzt, ich den patienten",
                    "du bist der kommissar und ich bin der dieb",
                ],
            ),
            (
                Language::French,
                &[
                    "tu joues le rôle de la boulangère, moi je fais le client",
                    "fais comme si tu étais mon banquier",
                    "on joue : toi t l'inspecteur, moi je suis le voleur",
                    "on fait un jeu de rôle ?",
                ],
            ),
            (
                Language::Spanish,
                &[
                    "haz como que eres mi jefe",
                    "tú eres el camarero y yo soy el cliente",
                ],
            ),
            (
                Language::Portuguese,
                &[
                    "finge que é meu chefe",
                    "você é o garçom e eu sou o cliente",
                ],
            ),
            (
                Language::Italian,
                &[
                    "fai finta di essere il mio capo",
                    "tu sei il cameriere, io sono il cliente",
                ],
            ),
            (
                Language::Russian,
                &[
                    "представь, что ты мой начальник",
                    "давай поиграем в пиратов",
                ],
            ),
            (
                Language::Japanese,
                &["ロールプレイしよう", "店員のふりをしてください"],
            ),
            (
                Language::Chinese,
                &["我们来玩角色扮演吧", "假装你是我的老板"],
            ),
            (Language::Korean, &["역할극 하자", "의사인 척해줘"]),
            (Language::Hindi, &["चलो रोलप्ले करते हैं", "tum bano mere boss"]),
        ] {
            for text in texts {
                assert!(is_play(text, language), "{text}");
            }
        }
    }

    #[test]
    fn a_play_lasts_until_the_user_ends_it() {
        let fact = "im allergic to nuts";
        assert_eq!(
            texts_of(&["we played a dnd session yesterday", fact]).len(),
            2
        );

        let play = "pretend you are my landlord";
        assert!(texts_of(&[play, fact]).is_empty());
        assert_eq!(
            texts_of(&[play, "the rent is too high", "ok end scene", fact]).len(),
            1
        );
    }
}
