/**
 * Makes nats.js bear with headers that are none. It reads those of an answer as it takes it from the socket; what throws
 * there ends the connection, with all that is under way. And nats-server gives out such headers: it stores their length
 * under no checksum, so a damaged bit there would cut a process off whenever it reads the message. They read as empty now.
 */
import { MsgHdrsImpl } from 'nats';

const { decode } = MsgHdrsImpl;

MsgHdrsImpl.decode = (bytes) => {
  try {
    return decode(bytes);
  } catch {
    return new MsgHdrsImpl();
  }
};
