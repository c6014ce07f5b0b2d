/** The users of every container's root: /etc/passwd of the host-root stemcell. */
export const passwdEntries = `root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
vcap:x:1000:1000:BOSH System User:/home/vcap:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
`;

/** Returns the group of a user of the image; 0 for any other user, as container runtimes do. */
export function primaryGroup(user: number): number {
  const fields = passwdEntries
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, , id]) => id === String(user));
  return Number(fields?.[3] ?? 0);
}
