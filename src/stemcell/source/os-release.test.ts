import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isNameOf, parseOsRelease, systemName } from './os-release.ts';

test('distribution and code name are read as a shell reads them', () => {
  const cases: readonly [string, string | undefined][] = [
    ['PRETTY_NAME="Debian GNU/Linux 12"\nVERSION_CODENAME=bookworm\nID=debian\n', 'debian-bookworm'],
    ['ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME="noble"\nUBUNTU_CODENAME=jammy\n', 'ubuntu-noble'],
    ["ID='opensuse-leap' \r\nVERSION_ID=15.6\r\n", 'opensuse-leap'],
    ['ID=debian\nID=devuan\n# ID=ubuntu\n', 'devuan'],
    ['ID=debian\nBOSH_KUBERNETES_UAA=ubuntu eval ${OS_CERTS_FILE:+ID=ubuntu}\n', 'debian'],
    ['ID="debian\nVERSION_CODENAME=bookworm\n', undefined],
    ['ID=$(id)\nVERSION_CODENAME=bookworm\n', undefined],
    ['ID=debian\nVERSION_CODENAME=\u001b[31mred\n', 'debian'],
    ['VERSION_CODENAME=bookworm\n', undefined],
    ['', undefined],
  ];
  for (const [text, expected] of cases) {
    const parsed = parseOsRelease(text);
    assert.equal(parsed && systemName(parsed), expected, text);
  }
});

test('a name is that of the operating system, or that with a suffix', () => {
  const debian = { distribution: 'debian', codeName: 'bookworm' };
  for (const name of ['debian-bookworm', 'debian-bookworm-fips', 'debian-bookworm.2', 'debian-bookworm_x'])
    assert.ok(isNameOf(name, debian), name);
  for (const name of ['ubuntu-noble', 'ubuntu-bookworm', 'debian-trixie', 'debian', 'debian-bookworms', 'x'])
    assert.ok(!isNameOf(name, debian), name);
  const nameless = { distribution: 'centos' };
  assert.ok(isNameOf('centos-7', nameless), 'os-release has no code name to compare');
  assert.ok(!isNameOf('ubuntu-noble', nameless));
});
