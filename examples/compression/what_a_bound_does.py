"""
What do readings look like within a bound?
==========================================
"""

# %%
# Three days of one sensor, before compression and after, from files with a bound of 2 and of 10.

import matplotlib.pyplot as plt

from hrpursuit.compression import compress, decompress
from hrpursuit.datasets import make_sensor_network

table = make_sensor_network(as_frame=True, random_state=0)
sensor = table["s07"].loc["2024-10-03":"2024-10-05"]
again = {bound: decompress(compress(table, max_error=bound))["s07"].loc[sensor.index] for bound in (2, 10)}

# %%
# The grey band shows the bound. With a bound of 2 the curve is nearly the original; with 10 its rise and fall over the
# day remain, but details are lost, and the file is about a fifth as large.

figure, axes = plt.subplots(2, 1, figsize=(8, 5), sharex=True, sharey=True, layout="constrained")
for axis, (bound, values) in zip(axes, again.items(), strict=True):
    axis.fill_between(sensor.index, sensor - bound, sensor + bound, color="0.88", label=f"within {bound}", lw=0)
    axis.plot(sensor.index, sensor, color="0.35", lw=1, label="given")
    axis.plot(values.index, values, color="#2166ac", lw=1.4, label="decoded")
    axis.set_ylabel("reading")
    axis.set_title(f"max_error={bound}: largest error {(values - sensor).abs().max():.2g}", loc="left", fontsize=11)
    axis.legend(ncols=3, loc="upper right", frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
axes[-1].tick_params("x", rotation=20)
plt.show()
