meta:
  id: hrp
  title: Compressed table of sensor readings (.hrp)
  application: hrpursuit
  file-extension: hrp
  license: BSD-3-Clause
  ks-version: '0.10'
  endian: le
doc: |
  The container of hrpursuit's compressed tables, version 1: headers, chunks and indices. docs/reference/format.md says what the
  parts mean, and what the payloads of chunks hold. Checksums are CRC-32: that of a header from zero, all others go on
  from the value of the header before them.
seq:
  - id: blocks
    type: block
    repeat: eos
instances:
  is_frame:
    value: (blocks[0].content.as<header>.body.flags & 1) == 1
    doc: Whether the table is a DataFrame. All headers of a file say the same.
  has_texts:
    value: (blocks[0].content.as<header>.body.flags & 2) == 2
    doc: Whether it has columns of texts.
enums:
  block_kind:
    0: header
    1: chunk
    2: index
  target_kind:
    0: lossless
    1: relative_rmse
    2: max_error
    3: n_nonzero_coefs
types:
  block:
    seq:
      - id: first
        type: u1
        valid:
          any-of: [0x89, 0xc5]
      - id: second
        type: u1
        valid:
          expr: 'first == 0x89 ? _ == 0x48 : _ == 0x9e or (_ & 0xf8) == 0xd8'
      - id: content
        type:
          switch-on: kind
          cases:
            'block_kind::header': header
            'block_kind::chunk': chunk
            'block_kind::index': index(second & 7)
    instances:
      kind:
        value: 'first == 0x89 ? block_kind::header : second == 0x9e ? block_kind::chunk : block_kind::index'
  header:
    seq:
      - id: magic
        contents: RP
      - id: len_body
        type: varint
      - id: body
        type: header_body
        size: len_body.value
      - id: checksum
        type: u4
  header_body:
    seq:
      - id: version
        type: u1
        valid: 1
      - id: flags
        type: u1
      - id: len_target
        type: varint
      - id: target
        type: target
        size: len_target.value
        if: len_target.value > 0
        doc: Nothing if every column is lossless.
      - id: chunk_rows
        type: varint
        doc: Most rows of a chunk.
      - id: num_columns
        type: varint
      - id: runs
        type: run
        repeat: until
        repeat-until: _.is_last
      - id: len_description
        type: varint
        if: (flags & 1) == 1
      - id: description
        type: packed
        size: len_description.value
        if: (flags & 1) == 1
        doc: Names, kind of labels, attributes, time zones and categories of columns.
      - id: len_shared
        type: varint
      - id: shared
        size: len_shared.value
        doc: What the coder of chunks needs for all of them.
      - id: more
        type: section
        repeat: eos
  target:
    seq:
      - id: code
        type: u1
      - id: amounts
        size-eos: true
        doc: Runs of amounts by column, as they are or as a raw deflate stream.
    instances:
      kind:
        value: code & 3
        enum: target_kind
      is_deflated:
        value: (code & 4) == 4
  run:
    doc: Columns of one type.
    seq:
      - id: code
        type: u1
      - id: num_columns
        type: varint
        if: not is_last
    instances:
      is_last:
        value: (code & 128) == 128
        doc: All columns that are left.
      type_code:
        value: code & 127
  packed:
    seq:
      - id: is_deflated
        type: u1
      - id: data
        size-eos: true
        doc: Plain, or a raw deflate stream.
  section:
    doc: Of a later writer. Kinds below 128 have to be understood.
    seq:
      - id: kind
        type: u1
      - id: len_data
        type: varint
      - id: data
        size: len_data.value
  chunk:
    seq:
      - id: len_body
        type: varint
      - id: body
        type: chunk_body
        size: len_body.value
      - id: checksum
        type: u4
  chunk_body:
    seq:
      - id: first_row
        type: varint
        doc: Counted from the header before.
      - id: rows
        type: varint
      - id: len_labels
        type: varint
        if: _root.is_frame
      - id: labels
        size: len_labels.value
        if: _root.is_frame
        doc: Empty if they count on from the header's start and step.
      - id: len_texts
        type: varint
        if: _root.has_texts
      - id: texts
        type: packed
        size: len_texts.value
        if: _root.has_texts
        doc: The texts that numbers in columns of texts stand for.
      - id: payload
        size-eos: true
    instances:
      num_rows:
        value: rows.value / 2
      is_plain:
        value: rows.value % 2 == 1
        doc: Whether the payload is the columns bit for bit.
  index:
    params:
      - id: flags
        type: u1
    seq:
      - id: len_body
        type: varint
      - id: body
        type: index_body
        size: len_body.value
      - id: len_index
        type: u4
        doc: Bytes of this block before this number.
      - id: checksum
        type: u4
    instances:
      has_labels:
        value: (flags & 1) == 1
      is_in_order:
        value: (flags & 2) == 2
      rows_differ:
        value: (flags & 4) == 4
  index_body:
    seq:
      - id: len_header
        type: varint
        doc: Bytes of the header right before the chunks; 0 if an index stands there.
      - id: first_row
        type: varint
        if: len_header.value == 0
      - id: num_chunks
        type: varint
      - id: sizes
        type: varint
        repeat: expr
        repeat-expr: num_chunks.value
      - id: rows
        type: varint
        repeat: expr
        repeat-expr: '_parent.rows_differ ? num_chunks.value : num_chunks.value > 0 ? 1 : 0'
        doc: Of every chunk, or of the last one alone; the others then have as many as the header allows.
      - id: labels
        size-eos: true
        doc: First and last label of each chunk, if the flags say so.
  varint:
    doc: Seven bits per byte, lowest first; the high bit says that another byte follows.
    seq:
      - id: groups
        type: u1
        repeat: until
        repeat-until: _ < 128
    instances:
      len:
        value: groups.size
      value:
        doc: |
          Multiplied rather than shifted, since shifts have 32 bits in some languages. No number of the container has
          more than 49 bits.
        value: >-
          ((groups[0] & 127).as<u8>
          + (len > 1 ? (groups[1] & 127).as<u8> * 128 : 0)
          + (len > 2 ? (groups[2] & 127).as<u8> * 16384 : 0)
          + (len > 3 ? (groups[3] & 127).as<u8> * 2097152 : 0)
          + (len > 4 ? (groups[4] & 127).as<u8> * 268435456 : 0)
          + (len > 5 ? (groups[5] & 127).as<u8> * 34359738368 : 0)
          + (len > 6 ? (groups[6] & 127).as<u8> * 4398046511104 : 0)).as<u8>
