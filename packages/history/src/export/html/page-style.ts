/** The style sheet of an exported page, for wide screens and phones, light and dark. It loads nothing. */
import { createHash } from "node:crypto";

const light = `--bg:#f7f7f5;--card:#fff;--text:#1f2328;--soft:#656d76;--line:#d9dce0;--accent:#b8542b;--you:#eef4fd;--you-line:#b9d0f0;
--code:#f3f4f6;--add:#dafbe1;--add-text:#116329;--gone:#ffebe9;--gone-text:#a40e26;--bad:#c62828;--key:#cf222e;--str:#0a5a31;--num:#0550ae;
--c0:#24292f;--c1:#cf222e;--c2:#116329;--c3:#7d5500;--c4:#0550ae;--c5:#8250df;--c6:#0f6c75;--c7:#6e7781;
--c8:#57606a;--c9:#a40e26;--c10:#1a7f37;--c11:#9a6700;--c12:#0969da;--c13:#a475f9;--c14:#1b7c83;--c15:#8c959f`;
const dark = `--bg:#0f1216;--card:#171b21;--text:#dfe4ea;--soft:#8d96a0;--line:#2c333c;--accent:#e0875f;--you:#17263b;--you-line:#2c4a73;
--code:#0f1318;--add:#12331f;--add-text:#7ee2a0;--gone:#3d1b20;--gone-text:#ff9a9a;--bad:#ff7b72;--key:#ff8f86;--str:#9bdcae;--num:#8cc4ff;
--c0:#6e7681;--c1:#ff7b72;--c2:#7ee787;--c3:#e3b341;--c4:#79c0ff;--c5:#d2a8ff;--c6:#76e3ea;--c7:#c9d1d9;
--c8:#8b949e;--c9:#ffa198;--c10:#9be9a8;--c11:#f2cc60;--c12:#a5d6ff;--c13:#e2c5ff;--c14:#b3f0ff;--c15:#f0f6fc`;

const colours = Array.from(
  { length: 16 },
  (_, at) => `.f${at}{color:var(--c${at})}.b${at}{background:var(--c${at});color:var(--bg)}`,
).join("");

export const style = `:root{color-scheme:light dark;${light}}@media(prefers-color-scheme:dark){:root{${dark}}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--text);font:16px/1.6 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:56rem;margin:0 auto;padding:2rem 1.25rem 4rem}h1{font-size:1.7rem;line-height:1.25;margin:0 0 1rem;overflow-wrap:anywhere}
h1.long{font-size:1.2rem}h2{font-size:1.25rem;margin:2.5rem 0 1rem}h3{font-size:.95rem;margin:0}h4,h5,h6{font-size:1.05rem;margin:1.1rem 0 .4rem}
a{color:var(--num)}p{margin:.5rem 0;overflow-wrap:anywhere}hr{border:0;border-top:1px solid var(--line);margin:1.2rem 0}
header.top{border-bottom:1px solid var(--line);padding-bottom:1.2rem;margin-bottom:1.2rem}
dl.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));gap:.7rem 1.5rem;margin:0}dl.facts div{min-width:0}
dl.facts dt{color:var(--soft);font-size:.8rem}dl.facts dd{margin:0;overflow-wrap:anywhere}
nav.outline{border:1px solid var(--line);border-radius:.6rem;background:var(--card);padding:.7rem 1rem;margin:0 0 1.5rem}
nav.outline ol{margin:.4rem 0 .2rem;padding-left:1.6rem}nav.outline li{margin:.15rem 0}nav.outline a{color:inherit;text-decoration:none}nav.outline a:hover{text-decoration:underline}
nav.outline time{color:var(--soft);font-size:.8rem;margin-left:.4rem}
.day{color:var(--soft);font-size:.8rem;text-align:center;margin:1.6rem 0 .6rem}
section{margin:.9rem 0;padding:0 0 0 1rem;border-left:3px solid transparent;min-width:0}section.human{background:var(--you);border:1px solid var(--you-line);border-radius:.7rem;padding:.7rem 1rem}
section.assistant{border-left-color:var(--accent)}section.machine,section.system{border-left-color:var(--line);color:var(--soft);font-size:.93rem}
section.assistant+section.assistant{margin-top:-.9rem;padding-top:.9rem}section.aside{opacity:.65}section>h3{display:flex;flex-wrap:wrap;gap:.2rem .6rem;align-items:baseline;margin-bottom:.2rem}
section>h3 .model,section>h3 time,section>h3 .badge{font-weight:400;color:var(--soft);font-size:.8rem}section>h3 .badge{border:1px solid var(--line);border-radius:1rem;padding:0 .5rem}
code{font:.88em/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);border-radius:.3rem;padding:.1em .3em;overflow-wrap:anywhere}
pre{font:.82rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;margin:0;white-space:pre-wrap;overflow-wrap:anywhere;tab-size:4}
.code,.out{position:relative;background:var(--code);border:1px solid var(--line);border-radius:.5rem;margin:.6rem 0;padding:.6rem .8rem;max-height:36rem;overflow:auto}
.lang{float:right;color:var(--soft);font-size:.72rem;margin-left:1rem}.k{color:var(--key)}.s{color:var(--str)}.n{color:var(--num)}.c{color:var(--soft);font-style:italic}
.diff .ins,.diff .del{display:inline-block;min-width:100%}.ins{background:var(--add);color:var(--add-text)}.del{background:var(--gone);color:var(--gone-text)}
details{margin:.5rem 0}summary{cursor:pointer;overflow-wrap:anywhere}details.tool{border:1px solid var(--line);border-radius:.6rem;background:var(--card);padding:.4rem .8rem;color:var(--text);font-size:1rem}
details.tool>summary{font-size:.9rem}.tool-name{font-weight:600}.subject{color:var(--soft);font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.82rem}
.mark{color:var(--soft);font-size:.78rem;margin-left:.3rem}.error .mark,.error>.tool-name{color:var(--bad)}details.error{border-color:var(--bad)}.error .out{border-color:var(--bad)}
details.thinking{color:var(--soft)}details.thinking>summary,details.more>summary,details.result>summary{font-size:.85rem;color:var(--soft)}
.note{color:var(--soft);font-style:italic}table{border-collapse:collapse}.scroll{overflow-x:auto;margin:.6rem 0}.grid td,.grid th{border:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top}.grid .right{text-align:right}
.inputs{font-size:.85rem}.inputs th{color:var(--soft);font-weight:400;text-align:left;vertical-align:top;padding:.1rem .9rem .1rem 0;white-space:nowrap}.inputs td{overflow-wrap:anywhere}
blockquote{margin:.6rem 0;padding:0 0 0 .9rem;border-left:3px solid var(--line);color:var(--soft)}ul,ol{margin:.4rem 0;padding-left:1.5rem}li{margin:.15rem 0;overflow-wrap:anywhere}
ul.todos{list-style:none;padding-left:.2rem}.done{color:var(--soft);text-decoration:line-through}figure{margin:.6rem 0}img{max-width:100%;height:auto;border:1px solid var(--line);border-radius:.5rem}
.command code{font-weight:600}.bold{font-weight:700}.dim{opacity:.65}.italic{font-style:italic}.under{text-decoration:underline}${colours}
@media(max-width:40rem){body{font-size:15px}main{padding:1.2rem .8rem 3rem}h1{font-size:1.35rem}section{padding-left:.6rem}section.human{padding:.6rem .7rem}details.tool{padding:.35rem .55rem}.code,.out{padding:.5rem .55rem}dl.facts{grid-template-columns:1fr 1fr}pre{font-size:.76rem}}
@media print{body{background:#fff}.code,.out{max-height:none}details.tool,nav.outline{break-inside:avoid}details::details-content{content-visibility:visible;display:block}}`;

/**
 * The policy allows only this style sheet and images that are in the page, so that styles in a transcript have no
 * effect.
 */
export const policy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; img-src data:; base-uri 'none'; form-action 'none'`;
