import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { NoteFile } from '../../../../shared/files/noteFile.js';

describe('a note in a file', () => {
  let folder: string;
  let path: string;
  const notes: NoteFile[] = [];
  const open = async (): Promise<NoteFile> => {
    const note = await NoteFile.open(path);
    notes.push(note);
    return note;
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-note-'));
    path = join(folder, 'a.note');
  });
  afterEach(async () => {
    await Promise.all(notes.splice(0).map((note) => note.close()));
    await rm(folder, { recursive: true });
  });

  it('is read by the next process as it was last written, long or short', async () => {
    const note = await open();
    expect(await note.read()).to.equal(undefined);
    for (const written of [{ a: 'x'.repeat(10_000) }, { a: 1 }, undefined, [2]]) {
      note.write(written);
      expect(await (await open()).read()).to.deep.equal(written);
    }
  });

  it('is undefined if its bytes are damaged', async () => {
    await writeFile(path, '{"a":\n');
    expect(await (await open()).read()).to.equal(undefined);
    await writeFile(path, Buffer.from([255, 0, 10]));
    expect(await (await open()).read()).to.equal(undefined);
  });
});
