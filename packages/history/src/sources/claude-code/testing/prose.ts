import type { Random } from "./random.ts";

const common =
  "the a to of and in is file that this function with for test code line error return value from module state check read write parse string object".split(
    " ",
  );
const ordinary =
  "session message parser buffer offset stream handler config route schema index search token cache branch commit server client socket timer queue worker thread memory record field column table query result export import promise async callback option default header footer layout button render update delete insert select create remove replace merge split".split(
    " ",
  );
const rare =
  "worktree kaleidoscope juniper obelisk marzipan quasar thimble zeppelin harbinger labyrinth porcupine saxophone tangerine umbrella vortex walrus xylophone yonder albatross bandicoot".split(
    " ",
  );
/** Words in other languages, most of them in other writing systems. Few sessions contain them, as in real data. */
const scripts: readonly (readonly string[])[] = [
  "関数 検索 テスト エラー 日本語 修正 ファイル 確認 してください 実装 設定 動作".split(" "),
  "функция поиск тест ошибка файл проверка исправить настройка сервер запрос".split(" "),
  "函数 搜索 测试 错误 文件 检查 修复 配置 服务器 请求".split(" "),
  "함수 검색 테스트 오류 파일 확인 수정 설정 서버 요청".split(" "),
  "función búsqueda prueba edición año configuración petición débil".split(" "),
];

/** Returns rare words for a session. One of ten sessions also gets words in one or two other languages. */
export function topics(random: Random): readonly string[] {
  const own = [random.pick(rare), random.pick(rare)];
  return random.integer(10) === 0 ? [...own, ...random.pick(scripts), ...random.pick(scripts)] : own;
}

/** Returns words with the frequencies of real text. Most are common words, and a few are topics of the session. */
export function prose(random: Random, words: number, about: readonly string[]): string {
  const isForeign = about.length > 2;
  const out: string[] = [];
  for (let i = 0; i < words; i += 1) {
    const chance = random.next();
    if (isForeign && chance < 0.4) out.push(random.pick(about));
    else if (chance < 0.55) out.push(random.pick(common));
    else if (chance < 0.997 || about.length === 0) out.push(random.pick(ordinary));
    else out.push(random.pick(about));
    if (i % 12 === 11) out.push("\n");
  }
  return out.join(" ");
}

let pool: string[] | undefined;

/**
 * Returns long tool output with lines as in code. The lines come from a pool, so hundreds of megabytes take only
 * seconds.
 */
export function toolOutput(random: Random, length: number, poolRandom: () => Random): string {
  if (!pool) {
    const own = poolRandom();
    pool = Array.from({ length: 2000 }, (_, i) => {
      const indent = " ".repeat(2 * own.integer(6));
      const name = `${own.pick(ordinary)}_${own.hex(4)}`;
      const forms = [
        `${i}\t${indent}const ${name} = "${own.pick(ordinary)}";\n`,
        `${indent}if (${name} === null) return ${own.pick(ordinary)}.${own.pick(ordinary)}(${own.integer(1000)});\n`,
        `${indent}}\n`,
        "\n",
        `/home/dev/project/src/${own.pick(ordinary)}/${name}.ts:${own.integer(900)}: ${prose(own, 8, []).trim()}\n`,
        `${indent}// ${prose(own, 3 + own.integer(12), []).replaceAll("\n", "")} → ${own.pick(ordinary)}\n`,
      ];
      return own.pick(forms);
    });
  }
  let text = "";
  while (text.length < length) text += random.pick(pool);
  return text.slice(0, length);
}
