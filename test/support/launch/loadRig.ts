/** A service, and a folder of files to load into it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { At } from './commands.js';
import { type Project, Service } from './service.js';

export class LoadRig {
  #files = 0;

  private constructor(
    readonly service: Service,
    readonly folder: string,
  ) {}

  static async start(): Promise<LoadRig> {
    return new LoadRig(await Service.start('standalone'), await mkdtemp(join(tmpdir(), 'vouch-load-')));
  }

  /** Creates an empty project with a key. */
  async newProject(): Promise<Project & At> {
    return { ...(await this.service.newProject()), url: this.service.url };
  }

  /** Writes a file with this extension. Returns its path. */
  async file(extension: string, content: string | Uint8Array): Promise<string> {
    const path = join(this.folder, `${++this.#files}.${extension}`);
    await writeFile(path, content);
    return path;
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
