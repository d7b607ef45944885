/** Tests where Skein looks for the data of each agent. */
import { expect, test } from "vitest";
import type { Environment, SourceName } from "../../../src/sources/port/source.ts";
import { sources } from "../../../src/sources/registry.ts";

function rootsOf(name: SourceName, env: Environment, platform: NodeJS.Platform = "linux", homes = ["/home/ada"]) {
  return sources.find((source) => source.name === name)?.roots({ env, homes, platform });
}

test.each<[SourceName, Environment, readonly string[]]>([
  ["codex", {}, ["/home/ada/.codex"]],
  ["codex", { CODEX_HOME: "/x" }, ["/x"]],
  ["opencode", {}, ["/home/ada/.local/share/opencode"]],
  ["opencode", { XDG_DATA_HOME: "/x" }, ["/x/opencode"]],
  ["opencode", { OPENCODE_DB: "/y/mine.db" }, ["/home/ada/.local/share/opencode", "/y/mine.db"]],
  [
    "opencode",
    { OPENCODE_DB: "mine.db" },
    ["/home/ada/.local/share/opencode", "/home/ada/.local/share/opencode/mine.db"],
  ],
  ["opencode", { OPENCODE_DB: "opencode-beta.db" }, ["/home/ada/.local/share/opencode"]],
  ["pi", {}, ["/home/ada/.pi/agent"]],
  ["pi", { PI_CODING_AGENT_DIR: "/x" }, ["/x"]],
  ["pi", { PI_CODING_AGENT_DIR: "/x", PI_CODING_AGENT_SESSION_DIR: "/y" }, ["/y"]],
  ["gemini", {}, ["/home/ada/.gemini"]],
  ["gemini", { GEMINI_CLI_HOME: "/x" }, ["/x/.gemini"]],
  ["copilot", {}, ["/home/ada/.copilot"]],
  ["copilot", { COPILOT_HOME: "/x" }, ["/x"]],
  ["cursor", {}, ["/home/ada/.cursor", "/home/ada/.config/Cursor/User/globalStorage/state.vscdb"]],
  ["cursor", { CURSOR_CONFIG_DIR: "/x" }, ["/x", "/home/ada/.config/Cursor/User/globalStorage/state.vscdb"]],
  ["grok", {}, ["/home/ada/.grok"]],
  ["grok", { GROK_HOME: "/x" }, ["/x"]],
  ["qwen", {}, ["/home/ada/.qwen"]],
  ["qwen", { QWEN_HOME: "/x" }, ["/x"]],
  ["qwen", { QWEN_HOME: "/x", QWEN_RUNTIME_DIR: "/y" }, ["/y"]],
  ["droid", {}, ["/home/ada/.factory"]],
  ["kimi", {}, ["/home/ada/.kimi", "/home/ada/.kimi-code"]],
  ["kimi", { KIMI_SHARE_DIR: "/x", KIMI_CODE_HOME: "/y" }, ["/x", "/y"]],
  ["amp", {}, ["/home/ada/.local/share/amp"]],
  ["amp", { AMP_DATA_DIR: "/x" }, ["/x"]],
  ["goose", {}, ["/home/ada/.local/share/goose/sessions", "/home/ada/.local/share/Block/goose/sessions"]],
  ["goose", { XDG_DATA_HOME: "/x" }, ["/x/goose/sessions", "/x/Block/goose/sessions"]],
  ["goose", { GOOSE_PATH_ROOT: "/x" }, ["/x/data/sessions"]],
  ["claude-desktop", {}, ["/home/ada/.config/Claude", "/home/ada/.config/Claude-3p"]],
  ["claude-desktop", { XDG_CONFIG_HOME: "/x" }, ["/x/Claude", "/x/Claude-3p"]],
])("the source %s with the variables %j looks for data in %j", (name, env, expected) => {
  expect(rootsOf(name, env)).toEqual(expected);
});

test("on macOS and Windows, the application data folders of the system are searched", () => {
  expect(rootsOf("claude-desktop", {}, "darwin")).toEqual([
    "/home/ada/Library/Application Support/Claude",
    "/home/ada/Library/Application Support/Claude-3p",
  ]);
  expect(rootsOf("claude-desktop", { APPDATA: "/roaming", LOCALAPPDATA: "/local" }, "win32")).toEqual([
    "/roaming/Claude",
    "/roaming/Claude-3p",
    "/local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude",
    "/local/Claude-3p",
  ]);
  expect(rootsOf("claude-desktop", {}, "win32")).toEqual([
    "/home/ada/AppData/Roaming/Claude",
    "/home/ada/AppData/Roaming/Claude-3p",
  ]);
  expect(rootsOf("gemini", {}, "darwin")).toEqual(["/home/ada/.gemini", "/home/ada/.cache/.gemini"]);
  expect(rootsOf("goose", { APPDATA: "/roaming" }, "win32")).toEqual(["/roaming/Block/goose/data/sessions"]);
});

test("under WSL, the home folders of Windows are searched at the paths that agents use on Windows", () => {
  const homes = ["/home/ada", "/mnt/c/Users/ada"];
  expect(rootsOf("codex", {}, "linux", homes)).toEqual(["/home/ada/.codex", "/mnt/c/Users/ada/.codex"]);
  expect(rootsOf("claude-desktop", {}, "linux", homes)).toEqual([
    "/home/ada/.config/Claude",
    "/mnt/c/Users/ada/AppData/Roaming/Claude",
    "/home/ada/.config/Claude-3p",
    "/mnt/c/Users/ada/AppData/Roaming/Claude-3p",
    "/mnt/c/Users/ada/AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude",
    "/mnt/c/Users/ada/AppData/Local/Claude-3p",
  ]);
  expect(rootsOf("goose", {}, "linux", homes)).toEqual([
    "/home/ada/.local/share/goose/sessions",
    "/home/ada/.local/share/Block/goose/sessions",
    "/mnt/c/Users/ada/AppData/Roaming/Block/goose/data/sessions",
  ]);
});
