// Compiles a Kaitai Struct description and prints what it finds in files, as one JSON object per line.
// node kaitai.js DESCRIPTION FILE...
const fs = require("fs");
const yaml = require("js-yaml");
const compiler = require("kaitai-struct-compiler");
const KaitaiStream = require("kaitai-struct/KaitaiStream");

function found(hrp) {
  return hrp.blocks.map((block) => {
    const { kind, content } = block;
    const body = content.body;
    if (kind === 0) {
      return {
        kind: "header",
        version: body.version,
        isFrame: hrp.isFrame,
        target: body.target ? body.target.kind : 0,
        chunkRows: body.chunkRows.value,
        nColumns: body.numColumns.value,
        types: body.runs.map((run) => [run.typeCode, run.isLast ? null : run.numColumns.value]),
        description: body.description ? body.lenDescription.value : 0,
        shared: Buffer.from(body.shared).toString("hex"),
        checksum: content.checksum,
      };
    }
    if (kind === 1) {
      return {
        kind: "chunk",
        firstRow: body.firstRow.value,
        nRows: Math.floor(body.numRows),
        isPlain: body.isPlain,
        labels: body.labels ? Buffer.from(body.labels).toString("hex") : "",
        texts: body.texts ? Buffer.from(body.texts.data).toString("hex") : "",
        payload: Buffer.from(body.payload).toString("hex"),
        checksum: content.checksum,
      };
    }
    return {
      kind: "index",
      header: body.lenHeader.value,
      firstRow: body.firstRow ? body.firstRow.value : 0,
      sizes: body.sizes.map((size) => size.value),
      rows: body.rows.map((rows) => rows.value),
      isInOrder: content.isInOrder,
      hasLabels: content.hasLabels,
      length: content.lenIndex,
      checksum: content.checksum,
    };
  });
}

async function main([description, ...paths]) {
  const files = await compiler.compile("javascript", yaml.load(fs.readFileSync(description, "utf8")), null, false);
  const module = { exports: {} };
  new Function("module", "exports", "require", files["Hrp.js"])(module, module.exports, require);
  const Hrp = module.exports.Hrp || module.exports;
  for (const path of paths) {
    console.log(JSON.stringify(found(new Hrp(new KaitaiStream(new Uint8Array(fs.readFileSync(path)).buffer, 0)))));
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
