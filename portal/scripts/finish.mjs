// After the build: sizes are within bounds, licences of what is in it are listed, and a manifest of
// hashes is written, by which the server checks the files when it starts.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const HERE = dirname(dirname(fileURLToPath(import.meta.url)));
const OUT = join(HERE, "..", "src", "ganglion", "server", "portal", "static");
const FIRST_LOAD = 260 * 1024;
const LAZY_PAGE = 60 * 1024;

const read = (path) => readFileSync(join(OUT, path));
const packed = (path) => gzipSync(read(path), { level: 9 }).length;
const kb = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;

/** Files that a chunk brings along, itself among them. */
function closure(build, key, seen = new Set()) {
  const chunk = build[key];
  if (!chunk || seen.has(key)) return seen;
  seen.add(key);
  for (const each of chunk.imports ?? []) closure(build, each, seen);
  return seen;
}
const filesOf = (build, keys) =>
  new Set([...keys].flatMap((key) => [build[key].file, ...(build[key].css ?? [])]));
const sum = (files) => [...files].reduce((bytes, each) => bytes + packed(each), 0);

function checkSizes(build) {
  const entry = Object.keys(build).find((key) => build[key].isEntry);
  const first = filesOf(build, closure(build, entry));
  const bytes = sum(["index.html", ...first]);
  console.log(`first load ${kb(bytes)} of ${kb(FIRST_LOAD)}, compressed`);
  const tooLarge = bytes > FIRST_LOAD ? ["the first load"] : [];
  for (const key of Object.keys(build).filter((each) => build[each].isDynamicEntry)) {
    const own = [...filesOf(build, closure(build, key))].filter((each) => !first.has(each));
    console.log(`  ${key}: ${kb(sum(own))} of ${kb(LAZY_PAGE)}`);
    if (sum(own) > LAZY_PAGE) tooLarge.push(key);
  }
  if (tooLarge.length) throw new Error(`too large: ${tooLarge.join(", ")}`);
}

/** Packages that are in the built files: those that the application needs, not its tools. */
function shipped() {
  const lock = JSON.parse(readFileSync(join(HERE, "package-lock.json"), "utf8"));
  return Object.entries(lock.packages)
    .filter(([path, each]) => path && !each.dev && !each.devOptional && existsSync(join(HERE, path)))
    .map(([path, each]) => ({
      name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
      version: each.version,
      licence: each.license ?? "",
      folder: join(HERE, path),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function writeNotices() {
  const parts = shipped().map((each) => {
    if (!each.licence) throw new Error(`${each.name}: no licence in package-lock.json`);
    const files = readdirSync(each.folder).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name));
    const texts = files
      .filter((name) => statSync(join(each.folder, name)).isFile())
      .map((name) => readFileSync(join(each.folder, name), "utf8").trim());
    return [`${each.name} ${each.version} (${each.licence})`, ...texts].join("\n\n");
  });
  const head = "Packages in the files of the portal, with their licences.";
  const line = `\n\n${"-".repeat(80)}\n\n`;
  writeFileSync(join(OUT, "notices.txt"), `${[head, ...parts].join(line)}\n`);
}

function listed(folder = OUT) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((each) => {
    const path = join(folder, each.name);
    return each.isDirectory() ? listed(path) : [relative(OUT, path).replaceAll("\\", "/")];
  });
}

function writeManifest() {
  const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");
  const files = Object.fromEntries(
    listed()
      .filter((each) => each !== "manifest.json" && each !== "stamp")
      .sort()
      .map((each) => [each, digest(read(each))]),
  );
  const build = digest(JSON.stringify(files)).slice(0, 16);
  writeFileSync(join(OUT, "manifest.json"), `${JSON.stringify({ build, files }, null, 1)}\n`);
  console.log(`build ${build}: ${Object.keys(files).length} files`);
}

const build = JSON.parse(read("build.json"));
rmSync(join(OUT, "build.json"));
checkSizes(build);
writeNotices();
writeManifest();
