"""
How many bytes does a time slot take on the air?
================================================
"""

# %%
# The readings of 56 sensors over four days are sent hour by hour, with a bound of 2 on the error of every reading.
# Three of the messages are lost.

import matplotlib.pyplot as plt
import numpy as np

from hrpursuit.datasets import make_sensor_network
from hrpursuit.live import Gap, LiveDecoder, LiveEncoder

HOUR, BOUND, LOST = 3_600 * 10**9, 2.0, {30, 31, 70}
table = make_sensor_network(as_frame=True, random_state=0).iloc[:96]
encoder = LiveEncoder(list(table.columns), max_error=BOUND, keyframe_every=24, stream=1)
decoder = LiveDecoder()
sizes, shown, errors = [], np.zeros(len(table), dtype=bool), []
for hour, readings in enumerate(table.to_numpy()):
    message = encoder.encode(readings, hour * HOUR)
    sizes.append(len(message))
    if hour in LOST:
        continue
    slots = decoder.decode(message)
    for slot in [] if isinstance(slots, Gap) else slots:
        shown[slot.time // HOUR] = True
        errors.append(np.nanmax(np.abs(slot.values - table.to_numpy()[slot.time // HOUR])))

# %%
# Once a day the message is a keyframe, which can be decoded alone; the other messages depend on those before them.
# After a loss the receiver has a gap, but never a wrong value, until the next keyframe, which repeats the four hours
# before it. `hrpursuit live controller` asks for a keyframe at once; this example does not.

figure, axis = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
hours = np.arange(len(sizes))
axis.bar(hours[shown], np.array(sizes)[shown], color="#2166ac", label="rebuilt within the bound")
axis.bar(hours[~shown], np.array(sizes)[~shown], color="#d6604d", label="lost, or waiting for a keyframe")
axis.axhline(4 * table.shape[1], color="0.4", ls="--", lw=1, label="the readings as 32-bit floats")
axis.set(xlabel="hour", ylabel="bytes of the message")
axis.legend(frameon=False, loc="upper right", ncols=3, bbox_to_anchor=(1, 1.15))
axis.spines[["top", "right"]].set_visible(False)
plt.show()
print(f"mean {np.mean(sizes):.0f} bytes; rebuilt {shown.sum()} of {len(shown)} slots, largest error {max(errors):.2f}")
