/** A shared service, a folder of files to load into it, and a new project for each test. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { At } from './commands.js';
import { sharedService } from './modes.js';
import type { Project, Service } from './service.js';

export interface LoadRig {
  readonly service: Service;
  readonly folder: string;
  /** The current test's own project. */
  readonly at: Project & At;
  /** Creates another empty project with a key. */
  readonly newProject: () => Promise<Project & At>;
  /** Writes a file with this extension. Returns its path. */
  readonly file: (extension: string, content: string | Uint8Array) => Promise<string>;
}

/** Registers the hooks of a rig in the current suite. Only tests and hooks may use it. */
export function loadRig(): LoadRig {
  const service = sharedService('standalone');
  const at = {} as Project & At;
  const newProject = async (): Promise<Project & At> => ({ ...(await service.newProject()), url: service.url });
  let folder: string;
  let files = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-load-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));
  beforeEach(async () => {
    Object.assign(at, await newProject());
  });
  return {
    service,
    at,
    newProject,
    get folder() {
      return folder;
    },
    file: async (extension, content) => {
      const path = join(folder, `${++files}.${extension}`);
      await writeFile(path, content);
      return path;
    },
  };
}
