// Why a memory was found, in words: who said it, what it has in common with the question, and how long ago it was.

import { timeAgo } from "./dates.js";
import { isUnnamed } from "./line.js";
import { hasText, joinList, t } from "./words.js";

const NEUTRAL_COSINE = 0.2; // about the mean of unrelated texts; also stands for an unknown cosine
const COSINE_TOLERANCE = 0.005;
const CLOSE_COSINE = 0.45; // from here on two texts usually say something about the same thing
const MAX_SHARED_WORDS = 2;
const MIN_WORD_CHARS = 3; // shorter words are rarely the subject; not in scripts without spaces
const MAX_ENDING_CHARS = 3; // by which two forms of a word may differ

/** The reasons for a hit, as a list of phrases. question: what was said. */
export function reasonsInWords({ kind, line, signals }, question = "") {
  const { cosine = NEUTRAL_COSINE, bm25_window, day, month, standing, time } = signals;
  const shared = sharedWords(question, line.text).map((word) => t("reason.quoted", { word }));
  const reasons = [
    cosine >= CLOSE_COSINE ? t("reason.close") : cosine > NEUTRAL_COSINE + COSINE_TOLERANCE && t("reason.related"),
    shared.length ? t("reason.mention", { words: joinList(shared) }) : bm25_window > 0 && t("reason.words"),
    day > 0 ? t("reason.day") : month > 0 && t("reason.month"),
    time > 0 && t("reason.time"),
    standing > 0 && t("reason.standing"),
  ].filter(Boolean);
  const source = kind === "line" ? saidBy(line) : writtenIn(kind);
  const age = line.undated ? [] : [timeAgo(line.said_at)];
  return [source, ...(reasons.length ? reasons : [t("reason.loose")]), ...age];
}

const writtenIn = (kind) => (hasText(`kind.${kind}`) ? t(`kind.${kind}`) : t("reason.from", { kind }));

const saidBy = (line) => (isUnnamed(line) ? t("reason.you") : t("reason.they", { speaker: line.speaker }));

/** The longest words of a question that a text has too, also in another form ("sail", "sails"). */
function sharedWords(question, text) {
  const words = contentWords(text).map(fold);
  const shared = contentWords(question).filter((word) => words.some((other) => isSameWord(fold(word), other)));
  const byForm = new Map(shared.map((word) => [fold(word), word]));
  return [...byForm.values()].sort((a, b) => b.length - a.length).slice(0, MAX_SHARED_WORDS);
}

function isSameWord(one, other) {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return long.startsWith(short) && long.length - short.length <= (isSpaced(short) ? MAX_ENDING_CHARS : 0);
}

/** The words of a text that may be its subject, in order. */
function contentWords(text) {
  const segments = new Intl.Segmenter(undefined, { granularity: "word" }).segment(text);
  return [...segments]
    .filter(({ isWordLike, segment }) => isWordLike && segment.length >= (isSpaced(segment) ? MIN_WORD_CHARS : 2))
    .map(({ segment }) => segment)
    .filter((word) => !COMMON_WORDS.has(fold(word)));
}

const fold = (word) => word.toLocaleLowerCase();

const isSpaced = (word) => !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word);

// Words of three letters and more that are never the subject of a question, in the commonest languages of its readers.
export const COMMON_WORDS = new Set(
  `ago all and any are but can did for get got had has her him his how its let may not now off one our out own say
   see she the too two use was way who why yes yet you about after again also always another anything because been before being both came come could does doing done down
   ever every from gave give goes going gone have having here into just know known last like made make many more most
   much must never next only other over really said same says shall should some something still such take tell than
   that their them then there these they thing things think this those through time told took until very want wants
   was well went were what when where which while whom whose will with would your yours
   als auf aus bei bin bis das dem den der des die dir du ein für hat ich ihm ihr ist man mit nun nur sie und uns vom von
   vor war was wer wie wir zum zur aber alle auch dann dass dein deine denn diese dieser doch eine einem einen einer etwas habe haben hast hatte ihre
   immer kann mein meine meiner mich mir nicht noch oder schon sein seine sind über unser viel wann warum welche welcher
   wenn wieder wird wurde
   aux car ces des elle est les leur lui mes moi mon nos pas par qui que ses son sur toi ton une vos avec aussi avait bien cela cette comme dans elle encore entre être fait leur mais même notre nous pour pourquoi quand
   quel quelle sans sont tout tous très votre vous
   con del ella eso fue hay las los mis más muy nos por que qué ser sin son soy sus tan una yo algo como cuál cuándo cuando desde donde dónde entre esta este están hasta porque pero puede quién sobre también
   tiene todo todos
   した する です ます こと もの これ それ ここ そこ いつ どこ ある いる から まで
   什么 怎么 哪里 时候 我们 你们 他们 这个 那个 为什么`.split(/\s+/),
);
