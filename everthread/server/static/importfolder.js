// A dropped folder as a zip archive, which the server reads as one import. Pictures and recordings are left out.

const MEDIA = /^(image|audio|video)\//;
const UTF8_NAMES = 0x800;
const FIRST_DAY = 0x21; // 1 January 1980
const MAX_FILES = 65_535; // of an archive without further headers

/** Resolves to the archive; rejects if the folder or a file in it can't be read, with its size if that is too large. */
export async function zipFolder(folder, maxBytes) {
  const parts = [];
  const directory = [];
  const files = await listFiles(folder);
  const size = files.reduce((total, [, { size }]) => total + size, 0);
  if (files.length > MAX_FILES) throw { files };
  if (size > maxBytes) throw { size };
  let offset = 0;
  for (const [path, file] of files) {
    const name = new TextEncoder().encode(path.slice(1));
    const fields = [20, UTF8_NAMES, 0, 0, FIRST_DAY, [await checksum(file)], [file.size], [file.size], name.length, 0];
    const header = record(0x04034b50, ...fields);
    parts.push(header, name, file);
    directory.push(record(0x02014b50, 20, ...fields, 0, 0, 0, [0], [offset]), name);
    offset += header.length + name.length + file.size;
  }
  const length = directory.reduce((total, { length }) => total + length, 0);
  const end = record(0x06054b50, 0, 0, files.length, files.length, [length], [offset], 0);
  return new File([...parts, ...directory, end], `${folder.name}.zip`);
}

/** The path and the file of everything in a folder. */
async function listFiles(folder) {
  const files = [];
  for (const folders = [folder]; folders.length; ) {
    const reader = folders.pop().createReader();
    const read = () => new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    for (let entries; (entries = await read()).length; ) { // some at a time
      for (const entry of entries) {
        if (entry.isDirectory) folders.push(entry);
        else {
          const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
          if (!MEDIA.test(file.type)) files.push([entry.fullPath, file]);
        }
      }
    }
  }
  return files;
}

/** The bytes of a signature and of fields: numbers of two bytes, and in a list of four. */
function record(signature, ...fields) {
  const view = new DataView(new ArrayBuffer(4 + 2 * fields.length + 2 * fields.filter(Array.isArray).length));
  view.setUint32(0, signature, true);
  let at = 4;
  for (const field of fields) {
    if (Array.isArray(field)) view.setUint32(at, field[0], true);
    else view.setUint16(at, field, true);
    at += Array.isArray(field) ? 4 : 2;
  }
  return new Uint8Array(view.buffer);
}

/** The CRC-32 of a file. */
async function checksum(file) {
  let crc = -1;
  const reader = file.stream().getReader();
  for (let chunk; !(chunk = await reader.read()).done; ) {
    for (const byte of chunk.value) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 255];
  }
  return ~crc;
}

const TABLE = Int32Array.from({ length: 256 }, (_, value) => {
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});
