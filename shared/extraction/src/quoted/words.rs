//! Words that announce third-party text, in lower case and separated by semicolons.

use domain::SourceMedium;

/// Lines that mail programs write above the mail in an answer or a forward, without the dashes.
pub(super) const MAIL_BOUNDARIES: &str = "original message;forwarded message;begin forwarded message;ursprüngliche nachricht;\
     weitergeleitete nachricht;message d'origine;message transféré;mensaje original;mensaje reenviado;\
     messaggio originale;messaggio inoltrato;mensagem original;mensagem encaminhada;исходное сообщение;\
     пересылаемое сообщение;转发的邮件;元のメッセージ";
/// Names of the mail header that gives the sender.
pub(super) const SENDER_HEADERS: &str =
    "from;von;de;da;expéditeur;remitente;от;差出人;发件人;보낸 사람";
/// Names of the other mail headers.
pub(super) const OTHER_HEADERS: &str = "to;cc;bcc;subject;date;sent;reply-to;an;betreff;datum;gesendet;à;a;objet;envoyé;para;asunto;fecha;\
     enviado;oggetto;inviato;assunto;data;кому;тема;дата;宛先;件名;日時;收件人;主题;日期;message-id;received;return-path;\
     mime-version;content-type;delivered-to";
/// Names of mail headers that nobody writes above a note.
pub(super) const MAIL_ONLY_HEADERS: &str = "subject;betreff;objet;asunto;oggetto;assunto;тема;件名;主题;message-id;received;return-path;mime-version";
/// Words for texts that people pass on, with the kind of text.
pub(super) const TEXT_NAMES: [(SourceMedium, &str); 3] = [
    (SourceMedium::Mail, MAILS),
    (SourceMedium::Page, PAGES),
    (SourceMedium::Paste, OTHERS),
];
const MAILS: &str = "mail;mails;email;emails;e-mail;message;letter;newsletter;nachricht;brief;correo;mensaje;carta;courriel;\
     lettre;mensagem;messaggio;lettera;письмо;сообщение;sms";
const PAGES: &str = "page;website;webpage;site;article;blog;post;wiki;seite;webseite;artikel;página;artículo;artigo;articolo;\
     pagina;статья;страница";
const OTHERS: &str = "text;document;transcript;thread;chat;conversation;output;log;logs;result;response;review;readme;report;\
     ticket;issue;comment;excerpt;passage;snippet;advert;dokument;auszug;ergebnis;antwort;documento;testo;\
     texto;texte;текст;документ";
/// Words that point at the following text, or say that it came from somebody.
pub(super) const POINTING_WORDS: &str = "here;here's;this;these;below;following;got;received;sent;found;forwarded;pasted;copied;says;reads;hier;\
     diese;dieser;dieses;folgende;bekommen;erhalten;bekam;aquí;este;esta;recibí;voici;ce;cette;reçu;ecco;\
     questo;questa;ricevuto;aqui;recebi;вот;получил;получила";
/// The words of [`POINTING_WORDS`] that say that the text came from somebody.
pub(super) const RECEIVING_WORDS: &str = "got;received;found;forwarded;pasted;copied;bekommen;erhalten;bekam;recibí;reçu;ricevuto;recebi;получил;\
     получила";
/// Words for a text whose kind is not named.
pub(super) const UNNAMED_TEXT_WORDS: &str = "this;das;dies;esto;ceci;ça;questo;isto;это";
/// Words before a text that is the writer's own.
pub(super) const OWN_TEXT_WORDS: &str =
    "my;our;mein;meine;unser;mi;mon;ma;mio;mia;meu;minha;мой;моё";
/// Words that ask to remember what follows.
pub(super) const REMEMBERING_WORDS: &str = "remember;save;store;note;merk;merke;recuerda;souviens";
/// Words that ask for work on a text. No statements are extracted from such a text.
pub(super) const TASK_WORDS: &str = "translate;rewrite;rephrase;paraphrase;proofread;summarize;summarise;summary;correct;edit;fix;polish;\
     improve;shorten;shorter;reply;respond;answer;explain;check;grammar;make;write;übersetze;korrigiere;\
     traduce;traduis;traduci;traduza;переведи";
/// Verbs that introduce what somebody else says.
pub(super) const SPEECH_VERBS: &str = "wrote;writes;said;says;replied;answered;texted;emailed;messaged;posted;reads;told;schrieb;schreibt;\
     sagte;sagt;meinte;escribió;dijo;dice;écrit;dit;escreveu;disse;scritto;scrive;написал;написала;сказал;\
     сказала";
/// Words after such a verb that name the person told.
pub(super) const LISTENER_WORDS: &str = "me;us;mir;uns";
/// Words for the writer.
pub(super) const WRITER_WORDS: &str = "i;we;ich;wir;yo;je;nous;io;noi;eu;я;мы";

/// Checks whether a list contains a word.
pub(super) fn list_contains(list: &str, word: &str) -> bool {
    list.split(';').any(|entry| entry == word)
}
