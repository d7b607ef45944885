/** The blocks that Anthropic's server tools add to an answer: their use, their result, and the files that they made. */
import type { FileStore } from "./file-store.ts";
import type { Ids } from "./ids.ts";
import type { CodeRun, Search } from "./script.ts";
import type { Block } from "./wire.ts";

const CALLER = { type: "direct" };

export function codeBlocks(run: CodeRun, { ids, files }: { readonly ids: Ids; readonly files: FileStore }): Block[] {
  const id = ids("srvtoolu_");
  const name = run.code === undefined ? "bash_code_execution" : "code_execution";
  const input = run.code === undefined ? { command: run.command ?? "" } : { code: run.code };
  const use = { type: "server_tool_use", id, name, input, caller: CALLER };
  if (run.error) {
    const error = { type: `${name}_tool_result_error`, error_code: run.error };
    return [use, { type: `${name}_tool_result`, tool_use_id: id, content: error }];
  }
  const content = (run.files ?? []).map((file) => ({
    type: `${name}_output`,
    file_id: files.addGenerated(file).id,
  }));
  const result = {
    type: `${name}_result`,
    stdout: run.stdout ?? "",
    stderr: run.stderr ?? "",
    return_code: run.returnCode ?? 0,
    content,
  };
  return [use, { type: `${name}_tool_result`, tool_use_id: id, content: result }];
}

export function searchBlocks(search: Search, ids: Ids): Block[] {
  const id = ids("srvtoolu_");
  const use = { type: "server_tool_use", id, name: "web_search", input: { query: search.query }, caller: CALLER };
  const content = search.error
    ? { type: "web_search_tool_result_error", error_code: search.error }
    : (search.results ?? []).map(({ title, url, pageAge }) => ({
        type: "web_search_result",
        title,
        url,
        encrypted_content: opaque(url),
        page_age: pageAge ?? null,
      }));
  return [use, { type: "web_search_tool_result", tool_use_id: id, content, caller: CALLER }];
}

/** The passages that a text cites, from all searches of its step. */
export function citationsOf(searches: readonly Search[]): readonly Block[] {
  const cited = searches.flatMap((search) => search.results ?? []).filter((result) => result.cite !== undefined);
  return cited.map(({ title, url, cite }) => ({
    type: "web_search_result_location",
    cited_text: cite,
    url,
    title,
    encrypted_index: opaque(`${url}#${cite}`),
  }));
}

function opaque(text: string): string {
  return Buffer.from(text).toString("base64");
}
