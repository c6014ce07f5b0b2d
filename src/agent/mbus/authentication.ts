import { createHash, timingSafeEqual } from 'node:crypto';

/** Returns a check of the Authorization header that takes the same time for every wrong value. */
export function basicAuthentication(user: string, password: string): (header: string | undefined) => boolean {
  const expected = digestOf(`${user}:${password}`);
  return (header) => {
    const match = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header ?? '');
    const given = match?.[1] === undefined ? '' : Buffer.from(match[1], 'base64').toString('utf8');
    return timingSafeEqual(digestOf(given), expected) && match !== null;
  };
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
