import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { debianVersions } from './programs.ts';

const release = '/etc/os-release';
const messages = existsSync(release) ? readFileSync(release, 'utf8').split('\n') : [];
const isElsewhere =
  !['ID=debian', 'VERSION_ID="12"'].every((line) => messages.includes(line)) && 'needs Debian 12';

/** Returns the output of a program, or an empty text if it is not installed. */
const printed = (program: string, ...args: readonly string[]): string =>
  spawnSync(program, args, { encoding: 'utf8' }).stdout ?? '';

/** Returns upstream's version. Debian's version, for example `1.6.20~ds1-1+deb12u3`, begins with it. */
const upstream = (text: string): string | undefined => /\b\d+\.\d+\.\d+\b/u.exec(text)?.[0];

for (const [name, version] of Object.entries(debianVersions)) {
  const status = printed('dpkg-query', '--show', '--showformat', '${db:Status-Status} ${Version}', name);
  const isMissing = !status.startsWith('installed ') && `needs the Debian package ${name}`;
  test(
    `the package ${name} has the version that docs/development/real-cluster.md names`,
    { skip: isElsewhere || isMissing },
    () => {
      assert.equal(upstream(status), version);
      if (name === 'containerd' || name === 'runc')
        assert.equal(upstream(printed(name, '--version')), version, `${name} on PATH`);
    },
  );
}
