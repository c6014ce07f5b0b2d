/** The JSON value of each line of a stream; a last line without its end is dropped, since it was cut. */
export async function* readJsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator {
  const decoder = new TextDecoder();
  let pending: string[] = [];
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      const whole = pending.join('') + line;
      pending = [];
      if (whole.trim() !== '') {
        yield JSON.parse(whole);
      }
    }
    pending.push(rest);
  }
}
