import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbeddedEnvironment } from '../support/embedded-environment.ts';
import type { LineVm } from '../support/line-vm.ts';

/** A VM with a disk, a canary on it, and a job that writes to it. */
export interface Subject {
  readonly vm: LineVm;
  readonly disk: string;
  readonly canary: DiskCanary;
}

/** Files on the host that nothing of a cluster may change. */
export class Canaries {
  /** A directory outside of the cluster. */
  readonly outside: string;
  readonly #expected: Map<string, { readonly content: Buffer; readonly inode: number }>;

  private constructor(outside: string, expected: Map<string, { content: Buffer; inode: number }>) {
    this.outside = outside;
    this.#expected = expected;
  }

  /**
   * Creates canaries outside, in the cluster's parent directory, among its volumes and below the directory
   * that pods may request.
   */
  static async plant(line: EmbeddedEnvironment): Promise<Canaries> {
    const outside = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-canary-'));
    const expected = new Map<string, { content: Buffer; inode: number }>();
    for (const directory of [
      join(outside, 'folder'),
      line.directory,
      join(line.clusterDirectory, 'kubelet', 'beside'),
      join(line.clusterDirectory, 'volumes', 'beside'),
    ]) {
      await mkdir(directory, { recursive: true });
      const path = join(directory, 'canary');
      const content = randomBytes(1000);
      await writeFile(path, content);
      expected.set(path, { content, inode: (await stat(path)).ino });
    }
    return new Canaries(outside, expected);
  }

  async assertAlive(): Promise<void> {
    for (const [path, { content, inode }] of this.#expected) {
      assert.deepEqual(await readFile(path), content, path);
      assert.equal((await stat(path)).ino, inode, path);
    }
    assert.deepEqual((await readdir(this.outside, { recursive: true })).toSorted(), [
      'folder',
      'folder/canary',
    ]);
  }

  /** Asserts that the canaries outside of the cluster's own directory are unchanged. */
  async assertAliveWithout(clusterDirectory: string): Promise<void> {
    for (const path of this.#expected.keys()) {
      if (path.startsWith(`${clusterDirectory}/`)) this.#expected.delete(path);
    }
    await this.assertAlive();
  }

  async remove(): Promise<void> {
    await rm(this.outside, { recursive: true });
  }
}

/** The files that the test writes to a disk, read from the node's directory. */
export class DiskCanary {
  readonly volume: string;
  readonly content: string;

  constructor(volume: string, content: string) {
    this.volume = volume;
    this.content = content;
  }

  async assertWhole(): Promise<void> {
    assert.equal(await readFile(join(this.volume, 'store', 'canary'), 'utf8'), this.content);
    await this.lines();
  }

  /** Returns how often the writer was started. */
  async lives(): Promise<number> {
    return (await readFile(join(this.volume, 'store', 'lives'), 'utf8')).split('\n').length - 1;
  }

  /**
   * Returns how many lines the writer wrote, and asserts that they are 1, 2, 3, ... The last one may be
   * incomplete.
   */
  async lines(): Promise<number> {
    const text = await readFile(join(this.volume, 'store', 'log'), 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw error;
    });
    const lines = text.split('\n').slice(0, -1);
    const wrong = lines.findIndex((line, index) => line !== String(index + 1));
    assert.equal(wrong, -1, `line ${wrong + 1} of ${this.volume}/store/log is '${lines[wrong] ?? ''}'`);
    return lines.length;
  }
}
