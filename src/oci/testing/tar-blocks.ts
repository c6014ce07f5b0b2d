/** Returns a header block with a correct checksum. `fields` are written over it. */
export function header(
  name: string,
  type: string,
  size: number,
  fields: Readonly<Record<number, string>> = {},
): Buffer {
  const block = Buffer.alloc(512);
  const texts: [number, string][] = [
    [0, name],
    [100, '0000644\0'],
    [124, `${size.toString(8).padStart(11, '0')}\0`],
    [156, type],
    [257, 'ustar\u000000'],
    ...Object.entries(fields).map(([path, text]): [number, string] => [Number(path), text]),
  ];
  for (const [index, text] of texts) block.write(text, index, 'latin1');
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** Returns a header of pax records or of a long name, with its content. */
export function prependedBlocks(type: 'x' | 'g' | 'L' | 'K', content: string): Buffer {
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  return Buffer.concat([header('before', type, content.length), body]);
}

/** Returns one pax record. */
export function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const length = rest.length + String(rest.length).length;
  return `${rest.length + String(length).length}${rest}`;
}

/** Returns a tar of these blocks, with its end. */
export const tarFrom = (...blocks: Buffer[]): Buffer => Buffer.concat([...blocks, Buffer.alloc(1024)]);
