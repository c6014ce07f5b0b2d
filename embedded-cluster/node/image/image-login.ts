/**
 * The files that the machine's su, sudo and runuser need in a container's root. Root can become any user. Of
 * the other users, only the group of `bosh ssh` can become root, by sudo, as on a stemcell: no user has a
 * password.
 */
export const loginFiles: readonly (readonly [path: string, content: string, mode: number])[] = [
  ...['su', 'su-l', 'runuser', 'runuser-l'].map(
    (name) => [`/etc/pam.d/${name}`, pamRules('auth sufficient pam_rootok.so'), 0o644] as const,
  ),
  ...['sudo', 'sudo-i'].map((name) => [`/etc/pam.d/${name}`, pamRules(), 0o644] as const),
  [
    '/etc/pam.d/other',
    ['auth', 'account', 'password', 'session'].map((type) => `${type} required pam_deny.so\n`).join(''),
    0o644,
  ],
  [
    '/etc/sudoers',
    `Defaults env_reset
Defaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
root ALL=(ALL:ALL) ALL
%bosh_sudoers ALL=(ALL:ALL) NOPASSWD: ALL
`,
    0o440,
  ],
  [
    '/etc/profile',
    `for file in /etc/profile.d/*.sh; do
  [ ! -r "$file" ] || . "$file"
done
unset file
`,
    0o644,
  ],
];

function pamRules(...first: readonly string[]): string {
  const rules = [
    ...first,
    'auth required pam_deny.so',
    'account required pam_permit.so',
    'password required pam_deny.so',
    'session required pam_permit.so',
  ];
  return rules.map((rule) => `${rule}\n`).join('');
}
