const headerBytes = 64;
const dialects = [0x02_02, 0x02_10, 0x03_00, 0x03_02];
const magic = Buffer.from([0xfe, 0x53, 0x4d, 0x42]);

/** Returns the first request of a client of SMB 2 and 3 (MS-SMB2 2.2.3), in a frame of direct TCP (2.1). */
export function smbNegotiate(): Buffer {
  const header = Buffer.alloc(headerBytes);
  magic.copy(header);
  header.writeUInt16LE(headerBytes, 4);
  // the client requests one credit
  header.writeUInt16LE(1, 14);
  const body = Buffer.alloc(36 + dialects.length * 2);
  body.writeUInt16LE(36, 0);
  body.writeUInt16LE(dialects.length, 2);
  // signing enabled
  body.writeUInt16LE(1, 4);
  dialects.forEach((dialect, index) => body.writeUInt16LE(dialect, 36 + index * 2));
  const frame = Buffer.alloc(4);
  frame.writeUInt32BE(header.length + body.length);
  return Buffer.concat([frame, header, body]);
}

/** Returns true for a response of SMB 2 or 3 to that request. */
export function isSmbAnswer(bytes: Buffer): boolean {
  const isResponse = bytes.length >= 24 && (bytes.readUInt32LE(20) & 1) === 1;
  return isResponse && bytes.subarray(4, 8).equals(magic) && bytes.readUInt16LE(16) === 0;
}
